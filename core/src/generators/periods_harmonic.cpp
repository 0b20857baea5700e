// Periods of which the smaller of any two divides the larger.
#include <algorithm>
#include <array>

#include "periods.hpp"

namespace deadbeat::sched::periods_harmonic {

namespace {

// A chain begins uniformly in the first octave of the range and is continued by factors of 2 or 3,
// each as likely (2 where only it fits), as long as it stays in the range; every task takes one of
// its periods, all as likely.
PeriodLaw make(const GeneratorSpec& spec, std::string&) {
    return [range = multiples(spec)](Random& random, std::span<Time> values) {
        const Time octave = std::min(2 * range.first - 1, range.last);
        const auto begins = static_cast<std::uint64_t>(octave - range.first + 1);
        std::array<Time, 64> chain{};  // 2^60 at most, doubled at least
        std::size_t length = 1;
        chain[0] = range.first + static_cast<Time>(random.below(begins));
        while (chain[length - 1] <= range.last / 2) {
            const Time last = chain[length - 1];
            const bool triple = last <= range.last / 3 && random.below(2) == 1;
            chain[length++] = last * (triple ? 3 : 2);
        }
        for (Time& value : values) {
            value = chain[random.below(length)] * range.unit;
        }
    };
}

const PeriodRegistrar registrar({.name = "harmonic",
                                 .title = "A random chain of multiples: each divides the larger",
                                 .reference = "deadbeat's own",
                                 .fixed_sum = false},
                                make);

}  // namespace

}  // namespace deadbeat::sched::periods_harmonic
