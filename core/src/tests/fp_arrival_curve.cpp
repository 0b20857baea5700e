// Fixed priorities on one processor, arrivals bounded by curves: job q of a busy period arrives at
// the earliest where the curve lets it, and ends by the least fixed point of
// w = (q + 1) C + sum over more urgent i of curve_i(w + J_i) C_i, which is what pyRTA and the
// crate response-time-analysis solve (Bozhko and Brandenburg, ECRTS 2020). Jobs of one
// hyper-period decide: with it both sides of the equation grow by no more than itself.
//
// Sufficient: no arrivals need be as many as the curve has in all windows at once.
#include "curves.hpp"

namespace deadbeat::sched::fp_arrival_curve {

namespace {

using namespace analysis;

TestVerdict respond(const Curve& own, const std::vector<Curve>& above, Time last, Steps& steps,
                    Time& response) {
    Wide end = 0, arrival = -own.jitter;
    for (Wide job = 0; job == 0 || (end > arrival && arrival < last); job++) {
        const Wide mine = (job + 1) * own.task.wcet;
        for (Wide next = std::max(end + own.task.wcet, mine); next != end;) {
            end = next;
            next = mine;
            for (const Curve& other : above) {
                next += other.work(end + other.jitter);
            }
            if (next - arrival > own.task.deadline) {
                return kTooLong;
            }
            if (!steps.spend(above.size() + 1)) {
                return kBudget;
            }
        }
        response = std::max(response, static_cast<Time>(end - arrival));
        arrival = own.distance(job + 1) - own.jitter;
    }
    return kAccepted;
}

TestVerdict fp_arrival_curve(const System& system, const TestOptions& options,
                             std::span<Time> bounds) {
    if (system.processors != 1) {
        return kNotUni;
    }
    if (options.blocking > 0) {
        return not_applicable("tasks may be blocked");
    }
    const auto order = priority_order(system, options);
    if (order.empty()) {
        return kUnknownOrder;
    }
    const auto all = curves(system);
    if (overload(all)) {
        return kOverloaded;
    }
    const Time last = hyperperiod(system).value_or(kNever);
    Steps steps(options);
    std::vector<Curve> above;
    for (const std::int32_t i : order) {
        Time response = 0;
        const TestVerdict found = respond(all[at(i)], above, last, steps, response);
        if (found.answer != TestAnswer::accepted) {
            return found;
        }
        if (!bounds.empty()) {
            bounds[at(i)] = response;
        }
        above.push_back(all[at(i)]);
    }
    return kAccepted;
}

const TestRegistrar registrar({.name = "fp-arrival-curve",
                               .title = "Fixed priorities on one processor, arrival curves",
                               .reference = "Bozhko and Brandenburg, ECRTS 2020",
                               .scheduler = "g-fp",
                               .model = "sporadic",
                               .ties = "given",
                               .deadlines = "arbitrary",
                               .kind = TestKind::sufficient,
                               .cost = 13,
                               .models = kJitter | kArrivals},
                              fp_arrival_curve);

}  // namespace

}  // namespace deadbeat::sched::fp_arrival_curve
