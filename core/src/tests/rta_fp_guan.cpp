// Response-time analysis of global fixed priorities with limited carry-in (RTA-LC): a window that
// starts when a processor was last not busy with more urgent work has at most m - 1 tasks that
// carry work in. In order of priority, R_k is the least fixed point x, from C_k, of
// C_k + floor((sum of N_i + the m - 1 largest (I_i - N_i)) / m), where N_i and I_i are the work of
// task i in x without and with carry-in, each capped at x - C_k + 1. The m most urgent tasks always
// have a processor: R = C.
//
// With carry-in: floor(y / T) C + C + min(max(0, y mod T - (T - R)), C - 1), y = max(0, x - C): the
// job carried in has executed for at least 1 before the window.
#include "shared.hpp"

namespace deadbeat::sched::rta_fp_guan {

namespace {

using namespace analysis;

Time without_carry(const Task& task, Time x) {
    return x / task.period * task.wcet + std::min(x % task.period, task.wcet);
}

Time with_carry(const Task& task, Time response, Time x) {
    const Time y = std::max<Time>(0, x - task.wcet);
    const Time carried =
        std::min(std::max<Time>(0, y % task.period - (task.period - response)), task.wcet - 1);
    // Of the last job no more than what the window holds.
    return y / task.period * task.wcet + std::min(x, task.wcet) + carried;
}

struct Finding {
    Time response;  // above D: none
    bool budget;
};

Finding response_of(const System& system, std::span<const std::int32_t> above, const Task& task,
                    const std::vector<Time>& responses, std::vector<Time>& gains, Steps& steps) {
    Time x = task.wcet;
    while (true) {
        if (!steps.spend(above.size() + 1)) {
            return {x, true};
        }
        const Time cap = x - task.wcet + 1;
        Time sum = 0;
        gains.clear();
        for (const std::int32_t index : above) {
            const auto i = static_cast<std::size_t>(index);
            const Time base = std::min(without_carry(system.tasks[i], x), cap);
            sum += base;
            gains.push_back(std::max<Time>(
                0, std::min(with_carry(system.tasks[i], responses[i], x), cap) - base));
        }
        const auto carried =
            std::min(gains.size(), static_cast<std::size_t>(system.processors) - 1);
        std::ranges::nth_element(gains, gains.begin() + static_cast<std::ptrdiff_t>(carried),
                                 std::greater<>());
        for (std::size_t i = 0; i < carried; i++) {
            sum += gains[i];
        }
        const Time next = task.wcet + sum / system.processors;
        if (next == x || next > task.deadline) {
            return {next, false};
        }
        x = next;
    }
}

TestVerdict run(const System& system, const TestOptions& options, std::span<Time> bounds) {
    if (!constrained(system)) {
        return kNotConstrained;
    }
    if (!fits_deadlines(system.tasks)) {
        return kTooLong;
    }
    if (!sums_fit(system)) {
        return kTooLarge;
    }
    const auto order = priority_order(system, options);
    if (order.empty()) {
        return kUnknownOrder;
    }
    Steps steps(options);
    std::vector<Time> responses(order.size());
    std::vector<Time> gains;
    for (std::size_t place = 0; place < order.size(); place++) {
        const auto k = static_cast<std::size_t>(order[place]);
        const Task& task = system.tasks[k];
        responses[k] = task.wcet;
        if (place >= static_cast<std::size_t>(system.processors)) {
            const Finding found =
                response_of(system, std::span(order).first(place), task, responses, gains, steps);
            if (found.budget) {
                return kBudget;
            }
            if (found.response > task.deadline) {
                return not_accepted("");
            }
            responses[k] = found.response;
        }
        if (!bounds.empty()) {
            bounds[k] = responses[k];
        }
    }
    return kAccepted;
}

const TestRegistrar registrar(
    {.name = "rta-fp-guan",
     .title = "Response-time analysis of global fixed priority, limited carry-in",
     .reference = "Guan, Stigge, Yi and Yu, RTSS 2009",
     .scheduler = "g-fp",
     .model = "sporadic",
     .ties = "given",
     .deadlines = "constrained",
     .kind = TestKind::sufficient,
     .cost = 16,
     .whole_instants = true},
    run);

}  // namespace

}  // namespace deadbeat::sched::rta_fp_guan
