// Fixed priorities on one processor where jobs suspend themselves, at any times, D <= T: a job's
// own suspension counts as execution, and a more urgent task that suspends itself has jitter R - C:
// R = C + S + sum of ceil((R + R_j - C_j) / T_j) C_j, R_j = C_j where S_j = 0. Or all suspension of
// all counts as execution. The smaller one counts.
//
// Jitter S, and a release of all tasks together as the worst case, are unsafe (Chen et al.,
// Real-Time Systems 55, 2019).
#include "shared.hpp"

namespace deadbeat::sched::fp_suspension {

namespace {

using namespace analysis;

struct Above {
    Task task;
    Time suspension, response;
};

std::optional<Wide> respond(Wide own, Time deadline, const std::vector<Above>& above,
                            bool oblivious, Steps& steps) {
    for (Wide x = own; x <= deadline && steps.spend(above.size() + 1);) {
        Wide next = own;
        for (const auto& [task, suspension, response] : above) {
            const Time jitter = oblivious || suspension == 0 ? 0 : response - task.wcet;
            const Wide cost = Wide{task.wcet} + (oblivious ? suspension : 0);
            next += (x + jitter + task.period - 1) / task.period * cost;
        }
        if (next == x) {
            return x;
        }
        x = next;
    }
    return std::nullopt;
}

TestVerdict fp_suspension(const System& system, const TestOptions& options,
                          std::span<Time> bounds) {
    if (system.processors != 1) {
        return kNotUni;
    }
    if (!constrained(system)) {
        return kNotConstrained;
    }
    const auto order = priority_order(system, options);
    if (order.empty()) {
        return kUnknownOrder;
    }
    Steps steps(options);
    std::vector<Above> above;
    for (const std::int32_t i : order) {
        const Task& task = system.tasks[at(i)];
        const Time suspension = system.extra(at(i)).suspension;
        const Wide own = Wide{task.wcet} + suspension;
        const auto aware = respond(own, task.deadline, above, false, steps);
        const auto oblivious = respond(own, task.deadline, above, true, steps);
        if (!aware && !oblivious) {
            return steps.spend(1) ? kTooLong : kBudget;
        }
        const auto found =
            static_cast<Time>(std::min(aware.value_or(kNever), oblivious.value_or(kNever)));
        above.push_back({task, suspension, found});
        if (!bounds.empty()) {
            bounds[at(i)] = found;
        }
    }
    return kAccepted;
}

const TestRegistrar registrar({.name = "fp-suspension",
                               .title = "Fixed priorities on one processor, self-suspension",
                               .reference = "Chen et al., Real-Time Systems 55, 2019",
                               .scheduler = "g-fp",
                               .model = "sporadic",
                               .ties = "given",
                               .deadlines = "constrained",
                               .kind = TestKind::sufficient,
                               .cost = 13,
                               .models = kSuspension},
                              fp_suspension);

}  // namespace

}  // namespace deadbeat::sched::fp_suspension
