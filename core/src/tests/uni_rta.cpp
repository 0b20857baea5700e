// Fixed priorities on one processor, exactly, for any deadlines: the responses of all jobs in the
// busy period that starts with a release of every task, each as late as its jitter allows. With L
// the last stretch of a job that nobody preempts (1 where all may), job q starts it at the least
// fixed point of s = B + (q + 1) C - L + sum over more urgent i of (floor((s + J_i) / T_i) + 1) C_i
// and ends at s + L, s + L - q T + J after its arrival. L = 1: until a job ends by the release of
// the next; else all of the busy period (Davis, Burns, Bril and Lukkien, Real-Time Systems 35,
// 2007: more urgent work that the last stretch put off delays the next job).
//
// Exact for sporadic tasks and for periodic ones released together, where nothing blocks (B = 0).
// Blocking need not occur: then only sufficient. B is the longest of: a stretch of less urgent work
// that nobody preempts, less the instant in which it began; a section of a less urgent task on a
// lock with a ceiling at least as urgent (stack resource policy, Baker, Real-Time Systems 3, 1991).
// It also makes a busy period endless where the tasks of a level use all of the processor; both
// sides of the equation then grow by the hyper-period H with q T_k, so that the jobs of one H
// decide.
#include "shared.hpp"

namespace deadbeat::sched {

namespace {

using namespace analysis;

enum class Found : int { meets, misses, budget, too_large };

struct Level {
    Task task;
    Extra extra;
    Time tail() const { return std::max<Time>(extra.np_last, 1); }
};

// Jobs released from `last` on need not be looked at.
Found respond(const Level& own, const std::vector<Level>& above, Time blocking, Time last,
              Steps& steps, Time& response) {
    const auto& [task, extra] = own;
    const Time tail = own.tail();
    response = 0;
    Wide start = blocking - tail, busy = blocking + task.wcet;
    for (Wide job = 0;; job++) {
        const Wide mine = (job + 1) * task.wcet + blocking - tail;
        start = std::max(start + task.wcet, mine);
        while (true) {
            if (!steps.spend(above.size() + 1)) {
                return Found::budget;
            }
            if (start + tail - job * task.period + extra.jitter > task.deadline) {
                return Found::misses;
            }
            if (start > kTimeMax) {
                return Found::too_large;
            }
            Wide next = mine;
            for (const Level& other : above) {
                next += ((start + other.extra.jitter) / other.task.period + 1) * other.task.wcet;
            }
            if (next == start) {
                break;
            }
            start = next;
        }
        const Wide nominal = job * task.period - extra.jitter;
        response = std::max(response, static_cast<Time>(start + tail - nominal));
        const Wide release = nominal + task.period;  // of the next one, at the earliest
        if (release >= last) {
            return Found::meets;
        }
        if (tail == 1 && start + 1 <= release) {
            return Found::meets;
        }
        while (tail > 1 && busy <= release) {
            Wide next =
                blocking + (busy + extra.jitter + task.period - 1) / task.period * task.wcet;
            for (const Level& other : above) {
                next += (busy + other.extra.jitter + other.task.period - 1) / other.task.period *
                        other.task.wcet;
            }
            if (!steps.spend(above.size() + 1)) {
                return Found::budget;
            }
            if (next == busy) {
                return Found::meets;
            }
            busy = next;
        }
    }
}

// What less urgent work, from `place` of the order on, may keep a task of `levels` waiting.
Time blocking_of(const System& system, const std::vector<std::int32_t>& order, std::size_t place) {
    std::vector<std::size_t> rank(order.size());
    for (std::size_t i = 0; i < order.size(); i++) {
        rank[at(order[i])] = i;
    }
    Time longest = 0;
    for (std::size_t i = place + 1; i < order.size() && !system.extras.empty(); i++) {
        longest = std::max(longest, system.extras[at(order[i])].np_max - 1);
    }
    for (const Section& section : system.sections) {
        const bool shared = std::ranges::any_of(system.sections, [&](const Section& other) {
            return other.lock == section.lock && rank[at(other.task)] <= place;
        });
        if (rank[at(section.task)] > place && shared) {
            longest = std::max(longest, section.length);
        }
    }
    return longest;
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
     .cost = 12,
     .models = kLocks | kJitter | kNonPreemptive,
     .protocols = "srp protect"},
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
    const bool plain = options.blocking == 0 && (beyond(system) & ~kJitter) == 0;
    const TestVerdict late = plain ? refuted("a job released with all others misses")
                                   : not_accepted("with blocking only sufficient");
    if (options.blocking > kParameterMax) {
        return kTooLarge;
    }
    Steps steps(options);
    std::vector<Task> loads;
    std::vector<Level> above;
    for (std::size_t place = 0; place < order.size(); place++) {
        const auto k = static_cast<std::size_t>(order[place]);
        const Level own{system.tasks[k], system.extra(k)};
        // The least urgent task has no one to block it.
        const Time given = place + 1 < order.size() ? options.blocking : 0;
        const Time blocking = std::max(given, blocking_of(system, order, place));
        loads.push_back(own.task);
        const int load = compare_utilisation({1, loads}, 1);
        if (load > 0) {
            return plain ? refuted("utilisation above 1") : late;
        }
        const Time last = load == 0 ? hyperperiod({1, loads}).value_or(kNever) : kNever;
        Time response = 0;
        switch (respond(own, above, blocking, last, steps, response)) {
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
        above.push_back(own);
    }
    return kAccepted;
}

}  // namespace analysis

}  // namespace deadbeat::sched
