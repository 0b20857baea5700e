// BCL. Job k of slack L = D_k - C_k misses only if it is interfered with for longer than L, while m
// processors run other tasks. With b_i, what task i can execute in [release, deadline) of k,
// aligned at the deadline: accepted when sum min(b_i, L) < m L, or = m L with some 0 < b_i <= L.
//
// The case of equality: then at most m - 1 of the b_i exceed L, so that for any e > 0
// sum min(b_i, L + e) <= m L + (m - 1) e < m (L + e).
#include "shared.hpp"

namespace deadbeat::sched::bcl {

namespace {

using namespace analysis;

bool passes(const System& system, std::size_t k) {
    const Time window = system.tasks[k].deadline;
    const Time slack = window - system.tasks[k].wcet;
    Time sum = 0;
    bool bounded = false;
    for (std::size_t i = 0; i < system.tasks.size(); i++) {
        if (i == k) {
            continue;
        }
        const Task& task = system.tasks[i];
        const Time jobs = window < task.deadline ? 0 : (window - task.deadline) / task.period + 1;
        const Time work =
            jobs * task.wcet + std::min(task.wcet, std::max<Time>(0, window - jobs * task.period));
        sum += std::min(work, slack);
        bounded = bounded || (work > 0 && work <= slack);
    }
    const Time room = slack * system.processors;
    return sum < room || (sum == room && bounded);
}

TestVerdict run(const System& system, const TestOptions& options, std::span<Time>) {
    if (!constrained(system)) {
        return kNotConstrained;
    }
    if (!fits_deadlines(system.tasks)) {
        return kTooLong;
    }
    if (!sums_fit(system)) {
        return kTooLarge;
    }
    Steps steps(options);
    for (std::size_t k = 0; k < system.tasks.size(); k++) {
        if (!steps.spend(system.tasks.size())) {
            return kBudget;
        }
        if (!passes(system, k)) {
            return not_accepted("");
        }
    }
    return kAccepted;
}

const TestRegistrar registrar({.name = "bcl",
                               .title = "BCL",
                               .reference = "Bertogna, Cirinei and Lipari, ECRTS 2005",
                               .scheduler = "g-edf",
                               .model = "sporadic",
                               .ties = "any",
                               .deadlines = "constrained",
                               .kind = TestKind::sufficient,
                               .cost = 4},
                              run);

}  // namespace

}  // namespace deadbeat::sched::bcl
