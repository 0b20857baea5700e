// The periods a spec allows: whole multiples of the granularity within the bounds.
#pragma once

#include "deadbeat/sched/generators.hpp"
#include "text.hpp"

namespace deadbeat::sched {

struct Multiples {
    Time first, last;  // in units of the granularity
    Time unit;
    Time count() const { return last - first + 1; }
};

inline Multiples multiples(const GeneratorSpec& spec) {
    const Time g = spec.granularity;
    return {(spec.period_low + g - 1) / g, spec.period_high / g, g};
}

// "" or that there is none.
inline std::string require_periods(const GeneratorSpec& spec) {
    if (multiples(spec).count() >= 1) {
        return "";
    }
    return "no multiple of " + std::to_string(spec.granularity) + " is within the periods [" +
           std::to_string(spec.period_low) + ", " + std::to_string(spec.period_high) + "]";
}

}  // namespace deadbeat::sched
