// Periods that are products of a prime power from each row of a matrix: all of them divide the
// product of the rows' largest, which therefore bounds the hyper-period however many tasks.
#include <algorithm>
#include <array>
#include <memory>

#include "periods.hpp"

namespace deadbeat::sched::periods_goossens_macq {

namespace {

constexpr std::array<Time, 15> kPrimes = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47};
using Exponents = std::array<int, kPrimes.size()>;

struct Best {
    Time product = 1;
    Time divisors = 1;
    Exponents exponents{};
};

// The number up to `limit` with the most divisors, the least such: its exponents never rise from
// one prime to the next (else exchanging two would give a smaller number with as many).
void search(Best& best, Exponents& exponents, std::size_t row, Time product, Time divisors,
            Time limit) {
    if (divisors > best.divisors || (divisors == best.divisors && product < best.product)) {
        best = {product, divisors, exponents};
    }
    if (row == kPrimes.size()) {
        return;
    }
    const int most = row == 0 ? 62 : exponents[row - 1];
    for (int e = 1; e <= most && product <= limit / kPrimes[row]; e++) {
        product *= kPrimes[row];
        exponents[row] = e;
        search(best, exponents, row + 1, product, divisors * (e + 1), limit);
    }
    exponents[row] = 0;
}

// Every product of one power from each row p^0, p^1, ..., p^e that lies within the range.
std::vector<Time> products(const Best& matrix, const Multiples& range) {
    std::vector<Time> found = {1};
    for (std::size_t row = 0; row < kPrimes.size(); row++) {
        const std::size_t before = found.size();
        Time power = 1;
        for (int e = 1; e <= matrix.exponents[row]; e++) {
            power *= kPrimes[row];
            for (std::size_t i = 0; i < before; i++) {
                found.push_back(found[i] * power);
            }
        }
    }
    std::erase_if(found, [&](Time t) { return t < range.first || t > range.last; });
    std::ranges::sort(found);
    return found;
}

PeriodLaw make(const GeneratorSpec& spec, std::string& reason) {
    const Multiples range = multiples(spec);
    const Time limit = (spec.lcm_limit - 1) / spec.granularity;  // below, not at, the limit
    Best matrix;
    Exponents exponents{};
    search(matrix, exponents, 0, 1, 1, limit);
    auto periods = products(matrix, range);
    if (limit < 1 || periods.empty()) {
        reason = "no period within [" + std::to_string(spec.period_low) + ", " +
                 std::to_string(spec.period_high) + "] divides " +
                 std::to_string(matrix.product * range.unit) +
                 ", the hyper-period of goossens-macq below " + std::to_string(spec.lcm_limit);
        return nullptr;
    }
    return [range, shared = std::make_shared<const std::vector<Time>>(std::move(periods))](
               Random& random, std::span<Time> values) {
        for (Time& value : values) {
            value = (*shared)[random.below(shared->size())] * range.unit;
        }
    };
}

const PeriodRegistrar registrar(
    {.name = "goossens-macq",
     .title = "Products of prime powers: all divide one number below the limit",
     .reference = "Goossens and Macq, 2001 (the method; the matrix is chosen for the limit)",
     .fixed_sum = false},
    make);

}  // namespace

}  // namespace deadbeat::sched::periods_goossens_macq
