// Fixed priorities on one processor, exactly, for any deadlines: the responses of all jobs in the
// busy period that starts with a release of every task, each the least fixed point of
// w = B + (q + 1) C_k + sum over more urgent i of ceil(w / T_i) C_i, response w - q T_k, until a
// job ends by the release of the next.
//
// Exact for sporadic tasks and for periodic ones released together, where nothing blocks (B = 0).
// Blocking by a non-preemptive section of less urgent work need not occur: then only sufficient. It
// also makes a busy period endless where the tasks of a level use all of the processor; both sides
// of the equation then grow by the hyper-period H with q T_k, so that the jobs of one H decide.
#include "shared.hpp"

namespace deadbeat::sched {

namespace {

using namespace analysis;

enum class Found : int { meets, misses, budget, too_large };

// Jobs released from `last` on need not be looked at.
Found respond(const Task& task, const std::vector<Task>& above, Time blocking, Time last,
              Steps& steps, Time& response) {
    response = 0;
    Wide finish = blocking;
    for (Wide job = 0;; job++) {
        const Wide own = (job + 1) * task.wcet + blocking;
        finish = std::max(finish + task.wcet, own);
        while (true) {
            if (!steps.spend(above.size() + 1)) {
                return Found::budget;
            }
            if (finish - job * task.period > task.deadline) {
                return Found::misses;
            }
            if (finish > kTimeMax) {
                return Found::too_large;
            }
            Wide next = own;
            for (const Task& other : above) {
                next += (finish + other.period - 1) / other.period * other.wcet;
            }
            if (next == finish) {
                break;
            }
            finish = next;
        }
        response = std::max(response, static_cast<Time>(finish - job * task.period));
        if (finish <= (job + 1) * task.period || (job + 1) * task.period >= last) {
            return Found::meets;
        }
    }
}

const TestRegistrar uni_rta_registrar(
    {.name = "uni-rta",
     .title = "Response-time analysis of fixed priority on one processor",
     .reference = "Joseph and Pandya, The Computer Journal 29(5), 1986; Lehoczky, RTSS 1990",
     .scheduler = "g-fp",
     .model = "sporadic",
     .ties = "given",
     .deadlines = "arbitrary",
     .kind = TestKind::exact,
     .cost = 12},
    analysis::uni_rta);

}  // namespace

namespace analysis {

TestVerdict uni_rta(const System& system, const TestOptions& options, std::span<Time> bounds) {
    if (system.processors != 1) {
        return kNotUni;
    }
    const auto order = priority_order(system, options);
    if (order.empty()) {
        return kUnknownOrder;
    }
    const TestVerdict late = options.blocking > 0
                                 ? not_accepted("with blocking only sufficient")
                                 : refuted("a job released with all others misses");
    if (options.blocking > kParameterMax) {
        return kTooLarge;
    }
    Steps steps(options);
    std::vector<Task> above;
    for (std::size_t place = 0; place < order.size(); place++) {
        const auto k = static_cast<std::size_t>(order[place]);
        const Task& task = system.tasks[k];
        // The least urgent task has no one to block it.
        const Time blocking = place + 1 < order.size() ? options.blocking : 0;
        above.push_back(task);
        const int load = compare_utilisation({1, above}, 1);
        if (load > 0) {
            return options.blocking > 0 ? late : refuted("utilisation above 1");
        }
        const Time last = load == 0 ? hyperperiod({1, above}).value_or(kNever) : kNever;
        above.pop_back();
        Time response = 0;
        switch (respond(task, above, blocking, last, steps, response)) {
            case Found::meets:
                break;
            case Found::misses:
                return late;
            case Found::budget:
                return kBudget;
            case Found::too_large:
                return kTooLarge;
        }
        if (!bounds.empty()) {
            bounds[k] = response;
        }
        above.push_back(task);
    }
    return kAccepted;
}

}  // namespace analysis

}  // namespace deadbeat::sched
