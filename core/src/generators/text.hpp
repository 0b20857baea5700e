// Numbers in reasons.
#pragma once

#include <charconv>
#include <string>

namespace deadbeat::sched {

// The shortest form of six digits: 3.2, 0.08, 1e-09.
inline std::string text(double value) {
    char digits[32];
    const auto end =
        std::to_chars(digits, digits + sizeof digits, value, std::chars_format::general, 6);
    return {digits, end.ptr};
}

}  // namespace deadbeat::sched
