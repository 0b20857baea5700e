#include "shares.hpp"

#include <algorithm>
#include <cmath>

namespace deadbeat::sched {

namespace {

double value_of(Time part, Time whole) {
    return static_cast<double>(part) / static_cast<double>(whole);
}

// A sum of `count` rounded quotients of magnitude `size` in total is within this of the exact one:
// three roundings for a quotient, one per addition, each below 2^-53 relative; and a factor of 2.
double uncertainty(std::size_t count, double size) {
    return static_cast<double>(count + 8) * 0x1.0p-52 * size;
}

int sign(Wide value) { return value < 0 ? -1 : (value > 0 ? 1 : 0); }

// By one common denominator; false where 128 bits do not hold it.
bool by_fraction(std::span<const ShareTerm> terms, std::int64_t bound, int& answer) {
    Wide numerator = -static_cast<Wide>(bound);
    Wide denominator = 1;
    for (const ShareTerm& term : terms) {
        Wide a = denominator;
        Wide b = term.whole;
        while (b != 0) {
            const Wide rest = a % b;
            a = b;
            b = rest;
        }
        Wide next = 0;
        Wide scaled = 0;
        Wide part = 0;
        if (__builtin_mul_overflow(denominator, static_cast<Wide>(term.whole) / a, &next) ||
            __builtin_mul_overflow(numerator, next / denominator, &scaled) ||
            __builtin_mul_overflow(static_cast<Wide>(term.coefficient) * term.part,
                                   next / term.whole, &part) ||
            __builtin_add_overflow(scaled, part, &numerator)) {
            return false;
        }
        denominator = next;
    }
    answer = sign(numerator);
    return true;
}

// Digit by digit, base 2^32. After k digits the sum is (total + f) / 2^(32 k) with f, what is left
// of the fractions, in (-negative, positive). A sum other than 0 is at least 1 / (product of the
// wholes) >= 2^(-60 n), so after enough digits an undecided one is 0.
int by_digits(std::span<const ShareTerm> terms, std::int64_t bound) {
    Wide total = -static_cast<Wide>(bound);
    std::int64_t positive = 0;
    std::int64_t negative = 0;
    std::vector<Wide> rests;
    for (const ShareTerm& term : terms) {
        total += static_cast<Wide>(term.coefficient) * (term.part / term.whole);
        rests.push_back(term.part % term.whole);
        (term.coefficient > 0 ? positive : negative) += std::abs(term.coefficient);
    }
    const std::size_t digits = (terms.size() * 60 + 40) / 32 + 2;
    for (std::size_t digit = 0; digit < digits; digit++) {
        if (total > 0 && total >= negative) {
            return 1;
        }
        if (total < 0 && -total >= positive) {
            return -1;
        }
        total <<= 32;
        bool any = false;
        for (std::size_t i = 0; i < terms.size(); i++) {
            const Wide scaled = rests[i] << 32;
            total += terms[i].coefficient * (scaled / terms[i].whole);
            rests[i] = scaled % terms[i].whole;
            any = any || rests[i] != 0;
        }
        if (!any) {
            return sign(total);
        }
    }
    return 0;
}

}  // namespace

int sign_of_sum(std::span<const ShareTerm> terms, std::int64_t bound) {
    double value = -static_cast<double>(bound);
    double size = std::abs(value);
    for (const ShareTerm& term : terms) {
        const double share =
            static_cast<double>(term.coefficient) * value_of(term.part, term.whole);
        value += share;
        size += std::abs(share);
    }
    if (std::abs(value) > uncertainty(terms.size(), size)) {
        return value < 0 ? -1 : 1;
    }
    int answer = 0;
    return by_fraction(terms, bound, answer) ? answer : by_digits(terms, bound);
}

void Load::add(Time part, Time whole) {
    terms_.push_back({1, part, whole});
    sum_ += value_of(part, whole);
    largest_ = std::max(largest_, sum_);
    additions_++;
}

void Load::remove(Time part, Time whole) {
    const auto found = std::ranges::find_if(
        terms_, [&](const ShareTerm& term) { return term.part == part && term.whole == whole; });
    terms_.erase(found);
    sum_ -= value_of(part, whole);
    additions_++;
}

int Load::compare_with(Time part, Time whole, std::int64_t bound) const {
    const double more = value_of(part, whole);
    const double difference = sum_ + more - static_cast<double>(bound);
    const double size = largest_ + more + static_cast<double>(bound);
    if (std::abs(difference) > uncertainty(additions_ + 2, size)) {
        return difference < 0 ? -1 : 1;
    }
    std::vector<ShareTerm> all = terms_;
    all.push_back({1, part, whole});
    return sign_of_sum(all, bound);
}

int Load::compare(const Load& other) const {
    const double difference = sum_ - other.sum_;
    const double size = largest_ + other.largest_;
    if (std::abs(difference) > uncertainty(additions_ + other.additions_ + 1, size)) {
        return difference < 0 ? -1 : 1;
    }
    std::vector<ShareTerm> all = terms_;
    for (const ShareTerm& term : other.terms_) {
        all.push_back({-1, term.part, term.whole});
    }
    return sign_of_sum(all, 0);
}

}  // namespace deadbeat::sched
