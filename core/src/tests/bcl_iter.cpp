// BCL, iterated: slacks S_k proved in one round lower the interference of the next.
//
// I_ik = floor(D_k / T_i) C_i + min(C_i, max(0, D_k mod T_i - S_i));
// S_k = D_k - C_k - floor(sum over i /= k of min(I_ik, D_k - C_k + 1) / m).
// Accepted once every S_k is at least 0; not accepted when a round changes nothing. Releases at
// whole instants: interference of more than D_k - C_k is then at least 1 more.
#include "slack.hpp"

namespace deadbeat::sched::bcl_iter {

namespace {

using namespace analysis;

Time slack_of(const System& system, std::size_t k, const std::vector<Time>& slacks) {
    const Task& task = system.tasks[k];
    const Time most = task.deadline - task.wcet + 1;
    Time sum = 0;
    for (std::size_t i = 0; i < system.tasks.size(); i++) {
        const Task& other = system.tasks[i];
        const Time whole = quotient(task.deadline, other.period);
        const Time work = edf_work(other, whole, task.deadline - whole * other.period, slacks[i]);
        sum += i == k ? 0 : std::min(work, most);
    }
    return most - 1 - sum / system.processors;
}

TestVerdict run(const System& system, const TestOptions& options, std::span<Time> bounds) {
    if (!constrained(system)) {
        return kNotConstrained;
    }
    if (!fits_deadlines(system.tasks)) {
        return kTooLong;
    }
    if (!sums_fit(system) || !small(system)) {
        return kTooLarge;
    }
    const std::size_t n = system.tasks.size();
    Steps steps(options);
    std::vector<Time> slacks(n, 0);
    bool changed = true;
    while (changed) {
        changed = false;
        bool all = true;
        for (std::size_t k = 0; k < n; k++) {
            if (!steps.spend(n)) {
                return kBudget;
            }
            const Time slack = slack_of(system, k, slacks);
            all = all && slack >= 0;
            if (slack > slacks[k]) {
                slacks[k] = slack;
                changed = true;
            }
        }
        if (all) {
            for (std::size_t k = 0; k < bounds.size(); k++) {
                bounds[k] = system.tasks[k].deadline - slacks[k];
            }
            return kAccepted;
        }
    }
    return not_accepted("");
}

const TestRegistrar registrar({.name = "bcl-iter",
                               .title = "BCL, iterated",
                               .reference = "Bertogna, Cirinei and Lipari, IEEE TPDS 20(4), 2009",
                               .scheduler = "g-edf",
                               .model = "sporadic",
                               .ties = "any",
                               .deadlines = "constrained",
                               .kind = TestKind::sufficient,
                               .cost = 10,
                               .whole_instants = true},
                              run);

}  // namespace

}  // namespace deadbeat::sched::bcl_iter
