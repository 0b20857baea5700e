#include "shared.hpp"

#include <numeric>
#include <utility>

#include "../fixed_priority.hpp"
#include "deadbeat/sched/ties.hpp"

namespace deadbeat::sched::analysis {

namespace {

// The largest instant below `before` at which demand steps, or -1.
Time last_step(std::span<const Task> tasks, Time before) {
    Time last = -1;
    for (const Task& task : tasks) {
        if (task.deadline < before) {
            const Time steps = (before - 1 - task.deadline) / task.period;
            last = std::max(last, task.deadline + steps * task.period);
        }
    }
    return last;
}

}  // namespace

Fit demand_fits(std::span<const Task> tasks, Time numerator, Time denominator, Time low, Time high,
                Time extra, Steps& steps) {
    Time t = last_step(tasks, high + 1);
    while (t >= low && t >= 0) {
        if (!steps.spend(2 * tasks.size())) {
            return Fit::budget;
        }
        Wide needed = extra;
        for (const Task& task : tasks) {
            // At most (t / T + 1) C, which 128 bits hold for all tasks together.
            needed += t < task.deadline
                          ? Wide{0}
                          : (static_cast<Wide>(t - task.deadline) / task.period + 1) * task.wcet;
        }
        Wide scaled = 0;
        if (__builtin_mul_overflow(needed, static_cast<Wide>(denominator), &scaled)) {
            return Fit::exceeds;  // beyond any t * numerator below 2^122
        }
        if (scaled > static_cast<Wide>(t) * numerator) {
            return Fit::exceeds;
        }
        const auto down = static_cast<Time>(scaled / numerator);
        t = down < t ? last_step(tasks, down + 1) : last_step(tasks, t);
    }
    return Fit::fits;
}

std::vector<std::int32_t> priority_order(const System& system, const TestOptions& options) {
    const std::vector<std::int32_t> rank = tie_rank(system, options.ties);
    const auto levels = priority_levels(system, options.priorities);
    if (rank.empty() || !levels) {
        return {};
    }
    std::vector<std::int32_t> order(system.tasks.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, {}, [&](std::int32_t task) {
        const auto i = static_cast<std::size_t>(task);
        return std::pair((*levels)[i], rank[i]);
    });
    return order;
}

int compare_fractions(Time a, Time b, Time c, Time d) {
    const Wide left = static_cast<Wide>(a) * d;
    const Wide right = static_cast<Wide>(c) * b;
    return left < right ? -1 : (left > right ? 1 : 0);
}

Wide greatest_divisor(Wide a, Wide b) {
    if (a < 0) {
        return 1;
    }
    while (b != 0) {
        const Wide rest = a % b;
        a = b;
        b = rest;
    }
    return a == 0 ? 1 : a;
}

Subsystem::Subsystem(const System& system, const std::vector<std::int32_t>& indices,
                     std::int32_t processors)
    : indices_(indices), processors_(processors) {
    for (const std::int32_t i : indices) {
        tasks_.push_back(system.tasks[static_cast<std::size_t>(i)]);
    }
}

TestVerdict Subsystem::run(TestFunction test, const TestOptions& options,
                           std::span<Time> bounds) const {
    std::vector<Time> found(bounds.empty() ? 0 : tasks_.size(), kNever);
    const TestVerdict verdict = test(system(), options, found);
    for (std::size_t i = 0; i < found.size(); i++) {
        bounds[static_cast<std::size_t>(indices_[i])] = found[i];
    }
    return verdict;
}

}  // namespace deadbeat::sched::analysis
