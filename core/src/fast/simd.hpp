// Vectors of integers, one per lane, for the instruction set this file is compiled for.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// Functions differ between the instruction sets: each gets a namespace of its own.
namespace deadbeat::sched::fast::DEADBEAT_LANES {

// Any machine: GCC's vector extension. A mask is a vector of 0 and -1.
template <class I, int N>
struct Simd {
    using Int = I;
    using Vec [[gnu::vector_size(N * sizeof(I))]] = I;
    using Unsigned [[gnu::vector_size(N * sizeof(I))]] = std::make_unsigned_t<I>;
    using Mask = Vec;
    static constexpr int lanes = N;

    static Vec load(const I* from) {
        Vec value;
        std::memcpy(&value, __builtin_assume_aligned(from, sizeof(Vec)), sizeof(Vec));
        return value;
    }
    static void store(I* to, Vec value) {
        std::memcpy(__builtin_assume_aligned(to, sizeof(Vec)), &value, sizeof(Vec));
    }
    static Vec all(I value) { return Vec{} + value; }
    static Vec column() {
        Vec value{};
        for (int lane = 0; lane < N; lane++) {
            value[lane] = static_cast<I>(lane);
        }
        return value;
    }
    // Unsigned: what lanes that do nothing compute may wrap.
    static Vec add(Vec a, Vec b) {
        return reinterpret_cast<Vec>(reinterpret_cast<Unsigned>(a) + reinterpret_cast<Unsigned>(b));
    }
    static Vec sub(Vec a, Vec b) {
        return reinterpret_cast<Vec>(reinterpret_cast<Unsigned>(a) - reinterpret_cast<Unsigned>(b));
    }
    static Vec min(Vec a, Vec b) { return a < b ? a : b; }
    static Vec max(Vec a, Vec b) { return a > b ? a : b; }
    static Vec without(Vec a, Vec bits) { return a & ~bits; }
    static Mask less(Vec a, Vec b) { return a < b; }
    static Mask at_most(Vec a, Vec b) { return a <= b; }
    static Mask equal(Vec a, Vec b) { return a == b; }
    static Mask both(Mask a, Mask b) { return a & b; }
    static Mask first_only(Mask a, Mask b) { return a & ~b; }
    static Mask neither(Mask a, Mask b) { return ~(a | b); }
    static Vec choose(Mask mask, Vec yes, Vec no) { return mask ? yes : no; }
    static bool any(Mask mask) {
#if defined(__AVX2__)
        if constexpr (sizeof(Vec) == sizeof(__m256i)) {
            const auto whole = reinterpret_cast<__m256i>(mask);
            return _mm256_testz_si256(whole, whole) == 0;
        }
#endif
        std::uint64_t words[sizeof(Vec) / 8];
        std::memcpy(words, &mask, sizeof(Vec));
        std::uint64_t found = 0;
        for (const std::uint64_t word : words) {
            found |= word;
        }
        return found != 0;
    }
    static std::uint32_t bits(Mask mask) {
#if defined(__AVX2__)
        if constexpr (sizeof(Vec) == sizeof(__m256i)) {
            return static_cast<std::uint32_t>(
                sizeof(I) == 4 ? _mm256_movemask_ps(reinterpret_cast<__m256>(mask))
                               : _mm256_movemask_pd(reinterpret_cast<__m256d>(mask)));
        }
#endif
        std::uint32_t found = 0;
        for (int lane = 0; lane < N; lane++) {
            found |= mask[lane] != 0 ? std::uint32_t{1} << lane : 0;
        }
        return found;
    }
    static Mask either(Mask a, Mask b) { return a | b; }
    static Mask opposite(Mask a) { return ~a; }
    static Mask common(Vec a, Vec b) { return (a & b) != 0; }
    static Mask zero(Vec a) { return a == 0; }
    static Vec half(Vec a) { return a >> 1; }
    static Vec lowest_bit(Vec a) {
        const auto bits = reinterpret_cast<Unsigned>(a);
        return a & reinterpret_cast<Vec>(~bits + 1);
    }
    // table[row of the lane][lane]
    static Vec gather(const I* table, Vec row) {
#if defined(__AVX2__)
        if constexpr (sizeof(Vec) == sizeof(__m256i)) {
            const auto index = reinterpret_cast<__m256i>(row * N + column());
            if constexpr (sizeof(I) == 4) {
                return reinterpret_cast<Vec>(_mm256_i32gather_epi32(table, index, 4));
            } else {
                return reinterpret_cast<Vec>(
                    _mm256_i64gather_epi64(reinterpret_cast<const long long*>(table), index, 8));
            }
        }
#endif
        Vec value{};
        for (int lane = 0; lane < N; lane++) {
            value[lane] = table[row[lane] * N + lane];
        }
        return value;
    }
    // table[row of the lane][lane] = value, where `mask`. The other lanes write what is there: no
    // branch that depends on the data.
    static void scatter(I* table, Vec row, Vec value, Mask mask) {
        row = choose(mask, row, Vec{});
        value = choose(mask, value, gather(table, row));
        I rows[N], values[N];
        std::memcpy(rows, &row, sizeof(Vec));
        std::memcpy(values, &value, sizeof(Vec));
        for (int lane = 0; lane < N; lane++) {
            table[rows[lane] * N + lane] = values[lane];
        }
    }
};

#if defined(__AVX512F__) && defined(__AVX512BW__)
template <>
struct Simd<std::int32_t, 16> {
    using Int = std::int32_t;
    using Vec = __m512i;
    using Mask = __mmask16;
    static constexpr int lanes = 16;

    static Vec load(const Int* from) { return _mm512_load_si512(from); }
    static void store(Int* to, Vec value) { _mm512_store_si512(to, value); }
    static Vec all(Int value) { return _mm512_set1_epi32(value); }
    static Vec column() {
        return _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    }
    static Vec add(Vec a, Vec b) { return _mm512_add_epi32(a, b); }
    static Vec sub(Vec a, Vec b) { return _mm512_sub_epi32(a, b); }
    static Vec min(Vec a, Vec b) { return _mm512_min_epi32(a, b); }
    static Vec max(Vec a, Vec b) { return _mm512_max_epi32(a, b); }
    static Vec without(Vec a, Vec bits) { return _mm512_andnot_si512(bits, a); }
    static Mask less(Vec a, Vec b) { return _mm512_cmplt_epi32_mask(a, b); }
    static Mask at_most(Vec a, Vec b) { return _mm512_cmple_epi32_mask(a, b); }
    static Mask equal(Vec a, Vec b) { return _mm512_cmpeq_epi32_mask(a, b); }
    static Mask both(Mask a, Mask b) { return _kand_mask16(a, b); }
    static Mask first_only(Mask a, Mask b) { return _kandn_mask16(b, a); }
    static Mask neither(Mask a, Mask b) { return _knot_mask16(_kor_mask16(a, b)); }
    static Vec choose(Mask mask, Vec yes, Vec no) { return _mm512_mask_blend_epi32(mask, no, yes); }
    static bool any(Mask mask) { return mask != 0; }
    static std::uint32_t bits(Mask mask) { return mask; }
    static Mask either(Mask a, Mask b) { return static_cast<Mask>(a | b); }
    static Mask opposite(Mask a) { return static_cast<Mask>(~a); }
    static Mask common(Vec a, Vec b) { return _mm512_test_epi32_mask(a, b); }
    static Mask zero(Vec a) { return _mm512_testn_epi32_mask(a, a); }
    static Vec half(Vec a) { return _mm512_srli_epi32(a, 1); }
    static Vec lowest_bit(Vec a) { return a & sub(_mm512_setzero_si512(), a); }
    static void scatter(Int* table, Vec row, Vec value, Mask mask) {
        const Vec index = _mm512_add_epi32(_mm512_slli_epi32(row, 4), column());
        _mm512_mask_i32scatter_epi32(table, mask, index, value, 4);
    }
    static Vec gather(const Int* table, Vec row) {
        const Vec index = _mm512_add_epi32(_mm512_slli_epi32(row, 4), column());
        return _mm512_i32gather_epi32(index, table, 4);
    }
};

template <>
struct Simd<std::int64_t, 8> {
    using Int = std::int64_t;
    using Vec = __m512i;
    using Mask = __mmask8;
    static constexpr int lanes = 8;

    static Vec load(const Int* from) { return _mm512_load_si512(from); }
    static void store(Int* to, Vec value) { _mm512_store_si512(to, value); }
    static Vec all(Int value) { return _mm512_set1_epi64(value); }
    static Vec column() { return _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0); }
    static Vec add(Vec a, Vec b) { return _mm512_add_epi64(a, b); }
    static Vec sub(Vec a, Vec b) { return _mm512_sub_epi64(a, b); }
    static Vec min(Vec a, Vec b) { return _mm512_min_epi64(a, b); }
    static Vec max(Vec a, Vec b) { return _mm512_max_epi64(a, b); }
    static Vec without(Vec a, Vec bits) { return _mm512_andnot_si512(bits, a); }
    static Mask less(Vec a, Vec b) { return _mm512_cmplt_epi64_mask(a, b); }
    static Mask at_most(Vec a, Vec b) { return _mm512_cmple_epi64_mask(a, b); }
    static Mask equal(Vec a, Vec b) { return _mm512_cmpeq_epi64_mask(a, b); }
    static Mask both(Mask a, Mask b) { return static_cast<Mask>(a & b); }
    static Mask first_only(Mask a, Mask b) { return static_cast<Mask>(a & ~b); }
    static Mask neither(Mask a, Mask b) { return static_cast<Mask>(~(a | b)); }
    static Vec choose(Mask mask, Vec yes, Vec no) { return _mm512_mask_blend_epi64(mask, no, yes); }
    static bool any(Mask mask) { return mask != 0; }
    static std::uint32_t bits(Mask mask) { return mask; }
    static Mask either(Mask a, Mask b) { return static_cast<Mask>(a | b); }
    static Mask opposite(Mask a) { return static_cast<Mask>(~a); }
    static Mask common(Vec a, Vec b) { return _mm512_test_epi64_mask(a, b); }
    static Mask zero(Vec a) { return _mm512_testn_epi64_mask(a, a); }
    static Vec half(Vec a) { return _mm512_srli_epi64(a, 1); }
    static Vec lowest_bit(Vec a) { return a & sub(_mm512_setzero_si512(), a); }
    static void scatter(Int* table, Vec row, Vec value, Mask mask) {
        const Vec index = _mm512_add_epi64(_mm512_slli_epi64(row, 3), column());
        _mm512_mask_i64scatter_epi64(table, mask, index, value, 8);
    }
    static Vec gather(const Int* table, Vec row) {
        const Vec index = _mm512_add_epi64(_mm512_slli_epi64(row, 3), column());
        return _mm512_i64gather_epi64(index, table, 8);
    }
};
#endif

}  // namespace deadbeat::sched::fast::DEADBEAT_LANES
