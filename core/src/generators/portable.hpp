// Logarithm and exponential from the four operations alone: the mathematical library's last bit
// differs between machines, and a task system must not. Relative error below 1e-15.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace deadbeat::sched::portable {

inline constexpr double kLn2High = 0x1.62e42fefa0000p-1;  // 14 zero bits: exact times an exponent
inline constexpr double kLn2Low = 0x1.cf79abc9e3b3ap-40;

// 1/n!, n = 0 to 13.
inline constexpr std::array<double, 14> kInverseFactorials = {1.0,
                                                              1.0,
                                                              1.0 / 2.0,
                                                              1.0 / 6.0,
                                                              1.0 / 24.0,
                                                              1.0 / 120.0,
                                                              1.0 / 720.0,
                                                              1.0 / 5040.0,
                                                              1.0 / 40320.0,
                                                              1.0 / 362880.0,
                                                              1.0 / 3628800.0,
                                                              1.0 / 39916800.0,
                                                              1.0 / 479001600.0,
                                                              1.0 / 6227020800.0};

// Natural logarithm of a normal number above 0.
inline double log(double x) {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    auto exponent = static_cast<std::int64_t>(bits >> 52) - 1023;
    double m = std::bit_cast<double>((bits & 0xfffffffffffffU) | 0x3ff0000000000000U);
    if (m > 1.4142135623730951) {
        m *= 0.5;
        exponent++;
    }
    // log m = 2 artanh z; |z| <= 0.1716, so the next term, z^23/23, is below 2^-62.
    const double z = (m - 1.0) / (m + 1.0);
    const double y = z * z;
    double series = 1.0 / 21.0;
    for (int odd = 19; odd >= 3; odd -= 2) {
        series = series * y + 1.0 / odd;
    }
    const auto e = static_cast<double>(exponent);
    return e * kLn2High + (2.0 * z + (2.0 * z * y * series + e * kLn2Low));
}

// e^x; 0 below -700.
inline double exp(double x) {
    if (x < -700.0) {
        return 0.0;
    }
    const double turns = x * 1.4426950408889634;
    const auto k = static_cast<std::int64_t>(turns + (turns < 0.0 ? -0.5 : 0.5));
    const auto e = static_cast<double>(k);
    const double r = (x - e * kLn2High) - e * kLn2Low;
    // |r| <= 0.347: r^14/14! is below 2^-57.
    double series = kInverseFactorials.back();
    for (std::size_t n = kInverseFactorials.size() - 1; n > 0; n--) {
        series = series * r + kInverseFactorials[n - 1];
    }
    return series * std::bit_cast<double>(static_cast<std::uint64_t>(k + 1023) << 52);
}

// u^(1/n) of u in (0, 1].
inline double root(double u, double n) { return exp(log(u) / n); }

}  // namespace deadbeat::sched::portable
