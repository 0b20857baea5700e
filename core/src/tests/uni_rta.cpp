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
#include <numeric>

#include "shared.hpp"

namespace deadbeat::sched {

namespace {

using namespace analysis;

enum class Found : int { meets, misses, overloaded, budget, too_large };

struct Level {
    Task task;
    Extra extra;
    Time tail() const { return std::max<Time>(extra.np_last, 1); }
};

// Jobs released from `last` on need not be looked at.
Found respond(const Level& own, std::span<const Level> above, Time blocking, Time last,
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
                const Time window = static_cast<Time>(start) + other.extra.jitter;
                next += Wide{window / other.task.period + 1} * other.task.wcet;
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
        longest = std::max(longest, system.extras[at(order[i])].stretch());
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

// Of an order down to some place: the last of them is asked about.
struct Levels {
    std::vector<Level> all;
    std::vector<Task> loads;
    void add(const System& system, std::int32_t task) {
        all.push_back({system.tasks[at(task)], system.extra(at(task))});
        loads.push_back(all.back().task);
    }
};

Found respond_last(const System& system, const std::vector<std::int32_t>& order,
                   const Levels& levels, Time given, Steps& steps, Time& response) {
    const int load = compare_utilisation({1, levels.loads}, 1);
    if (load > 0) {
        return Found::overloaded;
    }
    const std::size_t place = levels.all.size() - 1;
    // The least urgent task has no one to block it.
    const Time blocking =
        std::max(place + 1 < order.size() ? given : 0, blocking_of(system, order, place));
    const Time last = load == 0 ? hyperperiod({1, levels.loads}).value_or(kNever) : kNever;
    return respond(levels.all.back(), std::span(levels.all).first(place), blocking, last, steps,
                   response);
}

// Audsley's assignment (University of York report YCS 164, 1991): from the least urgent place up,
// any task that meets its deadline there with all that have no place yet above it. What is above in
// which order is nothing to its response, nor to what blocks it: so the first that fits will do.
// Longest deadlines are tried first. Empty: no order lets all of them meet theirs, or `why` not.
std::vector<std::int32_t> audsley(const System& system, Time given, Steps& steps, Found& why) {
    std::vector<std::int32_t> order(system.tasks.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {},
                             [&](std::int32_t i) { return system.tasks[at(i)].deadline; });
    for (std::size_t free = order.size(); free > 0; free--) {
        bool placed = false;
        for (std::size_t candidate = free; candidate > 0 && !placed; candidate--) {
            std::vector<std::int32_t> tried = order;
            std::rotate(tried.begin() + static_cast<std::ptrdiff_t>(candidate - 1),
                        tried.begin() + static_cast<std::ptrdiff_t>(candidate),
                        tried.begin() + static_cast<std::ptrdiff_t>(free));
            Time response = 0;
            Levels levels;
            for (std::size_t i = 0; i < free; i++) {
                levels.add(system, tried[i]);
            }
            why = respond_last(system, tried, levels, given, steps, response);
            if (why == Found::budget || why == Found::too_large) {
                return {};
            }
            placed = why == Found::meets;
            order = placed ? tried : order;
        }
        if (!placed) {
            return {};
        }
    }
    return order;
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
     .protocols = "srp protect",
     .assigns = true},
    analysis::uni_rta);

}  // namespace

namespace analysis {

TestVerdict uni_rta(const System& system, const TestOptions& options, std::span<Time> bounds) {
    if (system.processors != 1) {
        return kNotUni;
    }
    const bool plain = options.blocking == 0 && (beyond(system) & ~kJitter) == 0;
    const TestVerdict late = plain ? refuted("a job released with all others misses")
                                   : not_accepted("with blocking only sufficient");
    if (options.blocking > kParameterMax) {
        return kTooLarge;
    }
    Steps steps(options);
    const bool assigns = options.priorities == "opa";
    Found why = Found::meets;
    const auto order =
        assigns ? audsley(system, options.blocking, steps, why) : priority_order(system, options);
    if (order.empty()) {
        return !assigns                  ? kUnknownOrder
               : why == Found::budget    ? kBudget
               : why == Found::too_large ? kTooLarge
               : plain ? refuted("no priorities let all tasks meet their deadlines")
                       : late;
    }
    Levels levels;
    for (const std::int32_t task : order) {
        levels.add(system, task);
        Time response = 0;
        switch (respond_last(system, order, levels, options.blocking, steps, response)) {
            case Found::meets:
                break;
            case Found::misses:
                return late;
            case Found::overloaded:
                return plain ? refuted("utilisation above 1") : late;
            case Found::budget:
                return kBudget;
            case Found::too_large:
                return kTooLarge;
        }
        if (!bounds.empty()) {
            bounds[at(task)] = response;
        }
    }
    return kAccepted;
}

}  // namespace analysis

std::vector<std::int32_t> order_of_priorities(const System& system, const TestOptions& options) {
    analysis::Steps steps(options);
    Found why = Found::meets;
    return options.priorities == "opa" ? audsley(system, options.blocking, steps, why)
                                       : analysis::priority_order(system, options);
}

}  // namespace deadbeat::sched
