// Jobs in the order of their releases on one processor, whatever task they are of: an executor with
// one queue, or threads of one priority that wake once a job. A job released at `a` in a busy
// period waits for all that was released until then, itself among it: R = max over a of
// sum of (1 + floor(a / T_j)) C_j - a, all released at 0; only releases need be tried. Of releases
// at one instant any may come last (Bedarkar, Vardishvili, Bozhko, Maida and Brandenburg, RTSS
// 2022). Jitter J: up to 1 + floor((a + J_j) / T_j) releases.
#include "shared.hpp"

namespace deadbeat::sched::fifo_response {

namespace {

using namespace analysis;

TestVerdict fifo_response(const System& system, const TestOptions& options,
                          std::span<Time> bounds) {
    if (system.processors != 1) {
        return kNotUni;
    }
    if (compare_utilisation(system, 1) > 0) {
        return kOverloaded;
    }
    const std::size_t n = system.tasks.size();
    Steps steps(options);
    std::vector<Time> next;  // releases
    Wide work = 0;
    for (std::size_t i = 0; i < n; i++) {
        const auto& [task, jitter] = std::pair(system.tasks[i], system.extra(i).jitter);
        work += (Wide{jitter} / task.period + 1) * task.wcet;
        next.push_back((jitter / task.period + 1) * task.period - jitter);
    }
    // Between two releases the wait only shrinks; the busy period ends where none is left.
    Wide worst = work;
    for (;;) {
        const auto first = std::ranges::min_element(next);
        if (*first >= work) {
            break;
        }
        if (!steps.spend(n)) {
            return kBudget;
        }
        if (*first > kTimeMax) {
            return kTooLarge;
        }
        const Time a = *first;
        for (std::size_t i = 0; i < n; i++) {
            if (next[i] == a) {
                work += system.tasks[i].wcet;
                next[i] += system.tasks[i].period;
            }
        }
        worst = std::max(worst, work - a);
    }
    for (std::size_t i = 0; i < n; i++) {
        const Wide response = worst + system.extra(i).jitter;
        if (response > system.tasks[i].deadline) {
            return kTooLong;
        }
        if (!bounds.empty()) {
            bounds[i] = static_cast<Time>(response);
        }
    }
    return kAccepted;
}

const TestRegistrar registrar({.name = "fifo-response",
                               .title = "Response times in order of release, one processor",
                               .reference = "Bedarkar et al., RTSS 2022",
                               .scheduler = "p-fifo+release-order",
                               .model = "sporadic",
                               .ties = "any",
                               .deadlines = "arbitrary",
                               .kind = TestKind::sufficient,
                               .cost = 13,
                               .models = kJitter},
                              fifo_response);

}  // namespace

}  // namespace deadbeat::sched::fifo_response
