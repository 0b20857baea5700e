// Integer time of an unspecified unit, and arithmetic that never wraps silently.
#pragma once

#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>

namespace deadbeat::sched {

using Time = std::int64_t;
using Wide = __int128;

inline constexpr Time kNever = std::numeric_limits<Time>::max();
// Bound of every parameter of a task; an instant below kTimeMax plus a parameter cannot overflow.
inline constexpr Time kParameterMax = Time{1} << 60;
inline constexpr Time kTimeMax = Time{1} << 62;

// a * b, or nothing when it is above `limit`. Both non-negative.
inline std::optional<Time> checked_product(Time a, Time b, Time limit = kTimeMax) {
    const Wide product = static_cast<Wide>(a) * b;
    if (product > limit) {
        return std::nullopt;
    }
    return static_cast<Time>(product);
}

// Least common multiple of positive a and b, or nothing when it is above `limit`.
inline std::optional<Time> checked_lcm(Time a, Time b, Time limit = kTimeMax) {
    return checked_product(a / std::gcd(a, b), b, limit);
}

}  // namespace deadbeat::sched
