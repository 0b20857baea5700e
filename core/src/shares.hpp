// Exact comparison of sums of fractions, for utilisations and densities.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "deadbeat/sched/time.hpp"

namespace deadbeat::sched {

// coefficient * part / whole; |coefficient| <= 2, part >= 0, whole >= 1, both at most
// kParameterMax.
struct ShareTerm {
    std::int64_t coefficient;
    Time part;
    Time whole;
};

// Sign of (sum of terms) - bound, exact for whatever the terms are.
int sign_of_sum(std::span<const ShareTerm> terms, std::int64_t bound);

// A sum of shares that is compared exactly, mostly by its rounded value.
class Load {
  public:
    void add(Time part, Time whole);
    void remove(Time part, Time whole);  // of one that was added
    // Sign of this + part / whole - bound.
    int compare_with(Time part, Time whole, std::int64_t bound) const;
    // Sign of this - other.
    int compare(const Load& other) const;
    const std::vector<ShareTerm>& terms() const { return terms_; }

  private:
    std::vector<ShareTerm> terms_;
    double sum_ = 0.0;
    std::size_t additions_ = 0;  // roundings in sum_
    double largest_ = 0.0;       // that sum_ has been
};

}  // namespace deadbeat::sched
