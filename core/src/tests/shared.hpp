// Shared by the schedulability tests: answers, step budgets, exact sums of fractions, demand.
#pragma once

#include <algorithm>
#include <bit>
#include <optional>
#include <span>
#include <vector>

#include "deadbeat/sched/tests.hpp"

namespace deadbeat::sched::analysis {

inline constexpr TestVerdict kAccepted{TestAnswer::accepted, ""};

constexpr TestVerdict not_accepted(const char* reason) {
    return {TestAnswer::not_accepted, reason};
}
constexpr TestVerdict refuted(const char* reason) { return {TestAnswer::refuted, reason}; }
constexpr TestVerdict not_applicable(const char* reason) {
    return {TestAnswer::not_applicable, reason};
}
constexpr TestVerdict undecided(const char* reason) { return {TestAnswer::undecided, reason}; }

inline constexpr TestVerdict kBudget = undecided("the budget of steps was used up");
inline constexpr TestVerdict kTooLarge = undecided("times too large for 64-bit sums");
inline constexpr TestVerdict kNotConstrained = not_applicable("a deadline is longer than a period");
inline constexpr TestVerdict kNotImplicit = not_applicable("a deadline is not the period");
inline constexpr TestVerdict kNotUni = not_applicable("more than one processor");
inline constexpr TestVerdict kTooLong =
    not_accepted("a task needs more time than its deadline leaves");
inline constexpr TestVerdict kUnknownOrder = not_applicable("unknown priorities or tie rule");
inline constexpr TestVerdict kOverloaded = not_accepted("utilisation above the processors");

// Elementary steps left.
class Steps {
  public:
    explicit Steps(const TestOptions& options) : Steps(options.budget) {}
    explicit Steps(std::int64_t budget) : left_(budget) {}
    std::int64_t left() const { return left_; }
    bool spend(std::size_t steps) {
        left_ -= static_cast<std::int64_t>(steps);
        return left_ >= 0;
    }

  private:
    std::int64_t left_;
};

constexpr Time floor_div(Time a, Time b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

inline bool fits_deadlines(std::span<const Task> tasks) {
    return std::ranges::all_of(tasks, [](const Task& t) { return t.wcet <= t.deadline; });
}

// No sum of one term per task, each below 4 (T + D), overflows 64 bits.
inline bool sums_fit(const System& system) {
    Time longest = 0;
    for (const Task& task : system.tasks) {
        longest = std::max(longest, task.period + task.deadline);
    }
    const auto terms = static_cast<Time>(system.tasks.size()) + system.processors;
    return longest <= kTimeMax / 4 / terms;
}

// A sum of fractions compared with an integer: exact, whatever the terms.
class FractionSum {
  public:
    // Any numerator; denominator in [1, 2^60].
    void add(Wide numerator, Time denominator) {
        Wide whole = numerator / denominator;
        Wide rest = numerator % denominator;
        if (rest < 0) {
            rest += denominator;
            whole -= 1;
        }
        whole_ += whole;
        if (rest != 0) {
            parts_.push_back({rest, denominator});
        }
    }

    // Sign of sum - bound. Digits of base 2^32 of the fractional parts, most significant first:
    // after each, the sum is known to as many units of the last digit as there are parts. Sums that
    // differ do so by at least 1 / product of denominators, which bounds the digits needed.
    int compare(Wide bound) const {
        std::vector<Part> parts = parts_;
        const auto n = static_cast<Wide>(parts.size());
        Wide missing = bound - whole_;
        int bits = 64;
        for (const Part& part : parts) {
            bits += static_cast<int>(std::bit_width(static_cast<std::uint64_t>(part.denominator)));
        }
        for (int digit = 0; digit <= bits / 32; digit++) {
            if (missing < 0) {
                return 1;
            }
            if (missing > n) {
                return -1;
            }
            missing <<= 32;
            bool any = false;
            for (Part& part : parts) {
                const Wide scaled = part.rest << 32;
                missing -= scaled / part.denominator;
                part.rest = scaled % part.denominator;
                any = any || part.rest != 0;
            }
            if (!any) {
                break;
            }
        }
        if (missing < 0) {
            return 1;
        }
        return missing > n || (missing > 0 && exhausted(parts)) ? -1 : 0;
    }

  private:
    struct Part {
        Wide rest;
        Time denominator;
    };
    static bool exhausted(const std::vector<Part>& parts) {
        return std::ranges::all_of(parts, [](const Part& part) { return part.rest == 0; });
    }
    Wide whole_ = 0;
    std::vector<Part> parts_;
};

// Sign of sum of `lhs` - `rhs` where the double `lhs` is off by at most `error`; 0: too close.
inline int clear_sign(double lhs, double rhs, double error) {
    return lhs + error < rhs ? -1 : (lhs - error > rhs ? 1 : 0);
}
// A sum of n positive terms, each a few roundings of 64-bit integers: relative error, with room.
inline double rounding(std::size_t n) { return static_cast<double>(n + 16) * 0x1p-51; }

// Work demanded in [s, s + t) by jobs of `task` released and due in it, at most. Baruah, Mok and
// Rosier, RTSS 1990.
inline Time demand(const Task& task, Time t) {
    return t < task.deadline ? 0 : ((t - task.deadline) / task.period + 1) * task.wcet;
}

// The longest interval that can demand more than `slope` processors, for U < slope: a violation
// needs U t + sum u max(0, T - D) > slope t. Rounded up generously; nothing: U is too close to
// slope for doubles to tell.
inline std::optional<Time> demand_limit(std::span<const Task> tasks, double slope,
                                        double extra = 0.0) {
    double used = 0.0;
    double late = extra;
    for (const Task& task : tasks) {
        const double u = static_cast<double>(task.wcet) / static_cast<double>(task.period);
        used += u;
        late += u * static_cast<double>(std::max<Time>(0, task.period - task.deadline));
    }
    const double room = slope - used - (slope + used) * rounding(tasks.size());
    if (room <= 0.0) {
        return std::nullopt;
    }
    const double limit = late / room * (1.0 + 1e-9) + 1.0;
    if (limit >= 0x1p61) {
        return Time{1} << 61;
    }
    return static_cast<Time>(limit);
}

// Demand repeats with the hyper-period H from the largest max(0, D - T) on: what no interval up to
// their sum demands, none does, if U <= slope.
inline std::optional<Time> period_limit(const System& system) {
    const auto h = hyperperiod(system);
    Time late = 0;
    for (const Task& task : system.tasks) {
        late = std::max(late, task.deadline - task.period);
    }
    return h && *h <= (Time{1} << 61) - late ? std::optional(*h + late) : std::nullopt;
}

// What a horizon of demand may be taken as: the nearer of the two, if there is one.
inline std::optional<Time> nearer(std::optional<Time> a, std::optional<Time> b) {
    return a && b ? std::min(*a, *b) : (a ? a : b);
}

enum class Fit : int { fits, exceeds, budget };

// Whether sum demand(t) + extra <= t * numerator / denominator for every t in [low, high]: quick
// processor-demand analysis (Zhang and Burns, IEEE TC 58(9), 2009), which goes down from `high`:
// demand does not grow downwards, so no t' in (demand(t) denominator / numerator, t] violates it.
Fit demand_fits(std::span<const Task> tasks, Time numerator, Time denominator, Time low, Time high,
                Time extra, Steps& steps);

// Task indices by fixed priority, most urgent first; equal ones by the tie rule. Empty:
// an unknown rule.
std::vector<std::int32_t> priority_order(const System& system, const TestOptions& options);

// Sign of a / b - c / d.
int compare_fractions(Time a, Time b, Time c, Time d);
Wide greatest_divisor(Wide a, Wide b);  // of non-negative a and b, 1 for a = b = 0 or a < 0

// System of the tasks at `indices`, and answers brought back to their places.
class Subsystem {
  public:
    Subsystem(const System& system, const std::vector<std::int32_t>& indices,
              std::int32_t processors);
    System system() const { return {processors_, tasks_}; }
    // Runs a test on it, and spreads its bounds.
    TestVerdict run(TestFunction test, const TestOptions& options, std::span<Time> bounds) const;

  private:
    std::vector<std::int32_t> indices_;
    std::vector<Task> tasks_;
    std::int32_t processors_;
};

// The tests themselves, where others build on them.
TestVerdict gfb(const System& system, const TestOptions& options, std::span<Time> bounds);
TestVerdict rta_edf(const System& system, const TestOptions& options, std::span<Time> bounds);
TestVerdict uni_rta(const System& system, const TestOptions& options, std::span<Time> bounds);
TestVerdict qpa(const System& system, const TestOptions& options, std::span<Time> bounds);

}  // namespace deadbeat::sched::analysis
