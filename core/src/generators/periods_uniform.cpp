// Periods uniform over the multiples of the granularity within the bounds.
#include "periods.hpp"

namespace deadbeat::sched::periods_uniform {

namespace {

PeriodLaw make(const GeneratorSpec& spec, std::string&) {
    return [range = multiples(spec)](Random& random, std::span<Time> values) {
        for (Time& value : values) {
            const auto step = random.below(static_cast<std::uint64_t>(range.count()));
            value = (range.first + static_cast<Time>(step)) * range.unit;
        }
    };
}

const PeriodRegistrar registrar({.name = "uniform",
                                 .title = "Uniform over the integers of the range",
                                 .reference = "",
                                 .fixed_sum = false},
                                make);

}  // namespace

}  // namespace deadbeat::sched::periods_uniform
