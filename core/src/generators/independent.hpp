// Independent utilisations, given that their sum is within the tolerance.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>

#include "deadbeat/sched/generators.hpp"
#include "text.hpp"

namespace deadbeat::sched {

inline bool hits(const GeneratorSpec& spec, std::span<const double> values) {
    const double sum = std::accumulate(values.begin(), values.end(), 0.0);
    return std::abs(sum - spec.utilisation) <= spec.tolerance;
}

// Why independent draws with mean `mean` in [low, high] will not meet the sum in spec.attempts, or
// "": the sum is farther off its mean with probability below 2 exp(-2 t^2 / (n (high - low)^2))
// (Hoeffding, JASA 58, 1963).
inline std::string hopeless(const GeneratorSpec& spec, double mean) {
    const double n = spec.tasks;
    const double expected = n * mean;
    const double t = std::abs(expected - spec.utilisation) - spec.tolerance;
    const double width = spec.high - spec.low;
    const double exponent = t <= 0.0 ? 0.0 : 2.0 * t * t / (n * width * width);
    if (exponent <= std::log(2000.0 * static_cast<double>(spec.attempts))) {
        return "";
    }
    return "the utilisations of " + std::to_string(spec.tasks) + " tasks sum to " + text(expected) +
           " on average, too far from " + text(spec.utilisation) + " to be met by chance";
}

inline std::string missed(const GeneratorSpec& spec) {
    return "none of " + std::to_string(spec.attempts) + " draws sums to " + text(spec.utilisation) +
           " within " + text(spec.tolerance);
}

// Draws tried before a law that can be drawn from directly is: cheap where the tolerance is wide.
inline constexpr int kTries = 16;

}  // namespace deadbeat::sched
