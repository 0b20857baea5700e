// Fixed priorities inside a reservation of Q every P on one processor, any deadlines: in any x
// units it gives at least floor((x - 2 (P - Q)) Q / P) (Shin and Lee, RTSS 2003, the linear bound).
// Job q of a busy period ends at the least x for which that is enough for (q + 1) C and
// ceil((x + J_j) / T_j) C_j of every more urgent task; R = max (x - q T + J).
//
// SCHED_DEADLINE gives this to a thread only if its servers are schedulable, not if merely
// admitted.
#include "shared.hpp"

namespace deadbeat::sched::fp_in_reservation {

namespace {

using namespace analysis;

struct Level {
    Task task;
    Time jitter;
};

// Until which a reservation, or the processor, surely gave `work`.
Wide given_by(Wide work, const TestOptions& options) {
    const bool all = options.supply_budget == 0;
    const Wide budget = all ? 1 : options.supply_budget, period = all ? 1 : options.supply_period;
    return 2 * (period - budget) + (work * period + budget - 1) / budget;
}

std::optional<Wide> respond(const Level& own, const std::vector<Level>& above,
                            const TestOptions& options, Steps& steps) {
    Wide worst = 0, x = 0;
    for (Wide job = 0;; job++) {
        const Wide arrival = job * own.task.period - own.jitter;
        for (Wide next = x + 1; next != x;) {
            if (!steps.spend(above.size() + 1) || x > kTimeMax) {
                return std::nullopt;
            }
            x = next;
            Wide work = (job + 1) * own.task.wcet;
            for (const auto& [task, jitter] : above) {
                work += (x + jitter + task.period - 1) / task.period * task.wcet;
            }
            next = std::max(x, given_by(work, options));
            if (next - arrival > own.task.deadline) {
                return Wide{own.task.deadline} + 1;
            }
        }
        worst = std::max(worst, x - arrival);
        if (x <= arrival + own.task.period) {
            return worst;
        }
    }
}

TestVerdict fp_in_reservation(const System& system, const TestOptions& options,
                              std::span<Time> bounds) {
    if (system.processors != 1) {
        return kNotUni;
    }
    const auto order = priority_order(system, options);
    if (order.empty()) {
        return kUnknownOrder;
    }
    Steps steps(options);
    std::vector<Level> above;
    for (const std::int32_t i : order) {
        const Level own{system.tasks[at(i)], system.extra(at(i)).jitter};
        const auto found = respond(own, above, options, steps);
        if (!found) {
            return kBudget;
        }
        if (*found > own.task.deadline) {
            return kTooLong;
        }
        if (!bounds.empty()) {
            bounds[at(i)] = static_cast<Time>(*found);
        }
        above.push_back(own);
    }
    return kAccepted;
}

const TestRegistrar registrar({.name = "fp-in-reservation",
                               .title = "Fixed priorities inside a reservation on one processor",
                               .reference = "Shin and Lee, RTSS 2003",
                               .scheduler = "g-fp+reservation",
                               .model = "sporadic",
                               .ties = "given",
                               .deadlines = "arbitrary",
                               .kind = TestKind::sufficient,
                               .cost = 13,
                               .models = kJitter,
                               .reserved = true},
                              fp_in_reservation);

}  // namespace

}  // namespace deadbeat::sched::fp_in_reservation
