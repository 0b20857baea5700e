// Periods whose logarithm is uniform: as many tasks in every order of magnitude.
#include <algorithm>

#include "periods.hpp"
#include "portable.hpp"

namespace deadbeat::sched::periods_log_uniform {

namespace {

PeriodLaw make(const GeneratorSpec& spec, std::string&) {
    const Multiples range = multiples(spec);
    const double from = portable::log(static_cast<double>(range.first));
    const double to = portable::log(static_cast<double>(range.last) + 1.0);
    return [range, from, to](Random& random, std::span<Time> values) {
        for (Time& value : values) {
            const double drawn = portable::exp(from + (to - from) * random.unit());
            // Where 2^60 is near, drawn may round to above the last one.
            const Time step = drawn >= static_cast<double>(range.last)
                                  ? range.last
                                  : std::max(static_cast<Time>(drawn), range.first);
            value = step * range.unit;
        }
    };
}

const PeriodRegistrar registrar({.name = "log-uniform",
                                 .title = "Uniform logarithm, rounded down to the granularity",
                                 .reference = "Emberson, Stafford and Davis, WATERS 2010",
                                 .fixed_sum = false},
                                make);

}  // namespace

}  // namespace deadbeat::sched::periods_log_uniform
