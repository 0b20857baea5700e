// Response-time analysis of global EDF, iterated over slacks.
//
// R_k = C_k + floor(sum over i /= k of min(W_i(R_k), I_ik, R_k - C_k + 1) / m), the least fixed
// point from C_k, with W_i the work in any window of R_k and I_ik that in one of D_k aligned at the
// deadline, both with slacks S_i = D_i - R_i of earlier rounds. The bounds are valid together: the
// first job to exceed its own would be one whose interference all came from jobs within theirs.
#include "slack.hpp"

namespace deadbeat::sched {

namespace {

using namespace analysis;

struct Response {
    Time bound;  // above D: no bound
    bool budget;
};

Response response_of(const System& system, std::size_t k, const std::vector<Time>& slacks,
                     std::vector<Time>& aligned, Steps& steps) {
    const Task& task = system.tasks[k];
    const std::size_t n = system.tasks.size();
    for (std::size_t i = 0; i < n; i++) {
        const Task& other = system.tasks[i];
        const Time whole = quotient(task.deadline, other.period);
        aligned[i] = edf_work(other, whole, task.deadline - whole * other.period, slacks[i]);
    }
    aligned[k] = 0;
    Time response = task.wcet;
    while (true) {
        if (!steps.spend(n)) {
            return {response, true};
        }
        const Time most = response - task.wcet + 1;
        Time sum = 0;
        for (std::size_t i = 0; i < n; i++) {
            const Time work = window_work(system.tasks[i], response, slacks[i]);
            sum += std::min(std::min(work, aligned[i]), most);
        }
        const Time next = task.wcet + sum / system.processors;
        if (next == response || next > task.deadline) {
            return {next, false};
        }
        response = next;
    }
}

const TestRegistrar rta_edf_registrar({.name = "rta-edf",
                                       .title = "Response-time analysis of global EDF",
                                       .reference = "Bertogna and Cirinei, RTSS 2007",
                                       .scheduler = "g-edf",
                                       .model = "sporadic",
                                       .ties = "any",
                                       .deadlines = "constrained",
                                       .kind = TestKind::sufficient,
                                       .cost = 20,
                                       .whole_instants = true},
                                      analysis::rta_edf);

}  // namespace

namespace analysis {

TestVerdict rta_edf(const System& system, const TestOptions& options, std::span<Time> bounds) {
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
    std::vector<Time> aligned(n);
    bool changed = true;
    while (changed) {
        changed = false;
        bool all = true;
        for (std::size_t k = 0; k < n; k++) {
            const Response found = response_of(system, k, slacks, aligned, steps);
            if (found.budget) {
                return kBudget;
            }
            const Time slack = system.tasks[k].deadline - found.bound;
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

}  // namespace analysis

}  // namespace deadbeat::sched
