// A small deterministic generator: the same numbers on every machine and compiler.
#pragma once

#include <array>
#include <cstdint>

namespace deadbeat::sched {

// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014); also mixes seeds.
inline std::uint64_t mix(std::uint64_t& state) {
    state += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

// xoshiro256** (Blackman and Vigna, ACM TOMS 47, 2021).
class Random {
  public:
    explicit Random(std::uint64_t seed, std::uint64_t stream = 0) {
        std::uint64_t state = seed;
        state = mix(state) ^ (stream * 0xd1342543de82ef95U);
        for (auto& word : state_) {
            word = mix(state);
        }
    }

    std::uint64_t bits() {
        const std::uint64_t result = rotate(state_[1] * 5, 7) * 9;
        const std::uint64_t t = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= t;
        state_[3] = rotate(state_[3], 45);
        return result;
    }

    // Uniform in [0, 1), 53 bits.
    double unit() { return static_cast<double>(bits() >> 11) * 0x1.0p-53; }

    // Uniform in [0, bound), bound >= 1, without bias (Lemire, ACM TOMACS 29, 2019).
    std::uint64_t below(std::uint64_t bound) {
        unsigned __int128 product = static_cast<unsigned __int128>(bits()) * bound;
        if (static_cast<std::uint64_t>(product) < bound) {
            const std::uint64_t least = (0 - bound) % bound;
            while (static_cast<std::uint64_t>(product) < least) {
                product = static_cast<unsigned __int128>(bits()) * bound;
            }
        }
        return static_cast<std::uint64_t>(product >> 64);
    }

  private:
    static std::uint64_t rotate(std::uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
    std::array<std::uint64_t, 4> state_{};
};

}  // namespace deadbeat::sched
