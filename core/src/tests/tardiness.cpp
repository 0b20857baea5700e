// Bounds of tardiness under global EDF, for implicit deadlines and U <= m: task k is late by at
// most x + C_k, x = (sum of the L largest C - the least C) / (m - sum of the L - 1 largest u) with
// L = ceil(U) - 1, and 0 where x would be negative. On one processor, and where GFB accepts,
// nothing is late at all.
//
// Schedules of whole instants have whole tardiness, so the bound is rounded down. x is rounded with
// doubles only where that cannot matter: the quotient is found by exact comparison.
#include "shared.hpp"

namespace deadbeat::sched::tardiness {

namespace {

using namespace analysis;

// Least integer not below U, for U <= m.
std::int32_t ceiling_of_utilisation(const System& system) {
    std::int32_t low = 0;
    std::int32_t high = system.processors;
    while (low + 1 < high) {  // low < U <= high
        const std::int32_t middle = (low + high) / 2;
        (compare_utilisation(system, middle) > 0 ? low : high) = middle;
    }
    return high;
}

// Largest x with x (m - sum of u) <= work, that is x m <= work + sum of x C / T; at most `work`
// where no capacity of at least 1 is left.
std::optional<Time> quotient_of(Wide work, Wide m, std::span<const Task> used) {
    Wide low = 0;
    Wide high = kTimeMax;
    while (low + 1 < high) {
        const Wide x = low + (high - low) / 2;
        FractionSum sum;  // of x u
        for (const Task& task : used) {
            sum.add(x * task.wcet, task.period);
        }
        (sum.compare(x * m - work) >= 0 ? low : high) = x;
    }
    return low + 1 < kTimeMax ? std::optional(static_cast<Time>(low)) : std::nullopt;
}

TestVerdict run(const System& system, const TestOptions& options, std::span<Time> bounds) {
    if (!implicit(system)) {
        return kNotImplicit;
    }
    if (!fits_deadlines(system.tasks)) {
        return not_accepted("a task has more work than its period: its tardiness grows");
    }
    if (compare_utilisation(system, system.processors) > 0) {
        return not_accepted("utilisation above the processors: tardiness grows");
    }
    if (gfb(system, options, {}).answer == TestAnswer::accepted) {
        std::ranges::fill(bounds, 0);
        return kAccepted;
    }
    const auto carried = static_cast<std::size_t>(ceiling_of_utilisation(system)) - 1;
    std::vector<Task> tasks(system.tasks.begin(), system.tasks.end());
    std::ranges::sort(tasks, std::greater<>(), &Task::wcet);
    Wide work = -tasks.back().wcet;
    for (std::size_t i = 0; i < carried && i < tasks.size(); i++) {
        work += tasks[i].wcet;
    }
    std::ranges::sort(tasks, [](const Task& a, const Task& b) {
        return compare_fractions(a.wcet, a.period, b.wcet, b.period) > 0;
    });
    const std::size_t busy = carried > 0 ? std::min(carried - 1, tasks.size()) : 0;
    const auto x = quotient_of(std::max<Wide>(0, work), system.processors,
                               std::span<const Task>(tasks).first(busy));
    if (!x) {
        return kTooLarge;
    }
    for (std::size_t i = 0; i < bounds.size(); i++) {
        bounds[i] = *x + system.tasks[i].wcet;
    }
    return kAccepted;
}

const TestRegistrar registrar({.name = "tardiness",
                               .title = "Tardiness bound of global EDF (soft real-time)",
                               .reference = "Devi and Anderson, Real-Time Systems 38, 2008",
                               .scheduler = "g-edf",
                               .model = "sporadic",
                               .ties = "any",
                               .deadlines = "implicit",
                               .kind = TestKind::bound,
                               .cost = 2,
                               .whole_instants = true},
                              run);

}  // namespace

}  // namespace deadbeat::sched::tardiness
