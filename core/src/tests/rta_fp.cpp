// Response-time analysis of global fixed priorities. In order of priority, R_k is the least fixed
// point, from C_k, of C_k + floor(sum over more urgent i of min(W_i(R_k), R_k - C_k + 1) / m), with
// W_i the work of task i in any window, its slack D_i - R_i known.
#include "slack.hpp"

namespace deadbeat::sched::rta_fp {

namespace {

using namespace analysis;

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
    const auto order = priority_order(system, options);
    if (order.empty()) {
        return kUnknownOrder;
    }
    Steps steps(options);
    std::vector<Time> slacks(order.size());
    for (std::size_t place = 0; place < order.size(); place++) {
        const auto k = static_cast<std::size_t>(order[place]);
        const Task& task = system.tasks[k];
        Time response = task.wcet;
        while (true) {
            if (!steps.spend(place + 1)) {
                return kBudget;
            }
            Time sum = 0;
            for (std::size_t above = 0; above < place; above++) {
                const auto i = static_cast<std::size_t>(order[above]);
                sum += std::min(window_work(system.tasks[i], response, slacks[i]),
                                response - task.wcet + 1);
            }
            const Time next = task.wcet + sum / system.processors;
            if (next > task.deadline) {
                return not_accepted("");
            }
            if (next == response) {
                break;
            }
            response = next;
        }
        slacks[k] = task.deadline - response;
        if (!bounds.empty()) {
            bounds[k] = response;
        }
    }
    return kAccepted;
}

const TestRegistrar registrar({.name = "rta-fp",
                               .title = "Response-time analysis of global fixed priority",
                               .reference = "Bertogna and Cirinei, RTSS 2007",
                               .scheduler = "g-fp",
                               .model = "sporadic",
                               .ties = "given",
                               .deadlines = "constrained",
                               .kind = TestKind::sufficient,
                               .cost = 15,
                               .whole_instants = true},
                              run);

}  // namespace

}  // namespace deadbeat::sched::rta_fp
