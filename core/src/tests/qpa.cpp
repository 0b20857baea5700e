// EDF on one processor, exactly, for any deadlines: U <= 1 and DBF(t) <= t for every t, looked at
// from the longest t that matters down.
//
// Exact for sporadic tasks and for periodic ones released together. With blocking, DBF(t) + B(t) <=
// t for t < max D as well, which is sufficient: who blocks has a deadline beyond t, so D > t. B(t)
// is the longest of what is given; of stretches without preemption of such tasks, less the instant
// in which one began; of their sections on a lock that a task with D <= t uses (stack resource
// policy, Baruah, RTSS 2006). It changes at deadlines alone, and between two of them the demand is
// looked at as without it.
#include "shared.hpp"

namespace deadbeat::sched {

namespace {

using namespace analysis;

// Length of the synchronous busy period: EDF misses in it, if at all (Ripoll, Crespo and Mok,
// 1996).
std::optional<Time> busy_period(const System& system, Steps& steps) {
    Wide length = 0;
    for (const Task& task : system.tasks) {
        length += task.wcet;
    }
    while (length <= kTimeMax / 2 && steps.spend(system.tasks.size())) {
        Wide next = 0;
        for (const Task& task : system.tasks) {
            next += (length + task.period - 1) / task.period * task.wcet;
        }
        if (next == length) {
            return static_cast<Time>(length);
        }
        length = next;
    }
    return std::nullopt;
}

const TestRegistrar qpa_registrar({.name = "qpa",
                                   .title = "QPA, EDF on one processor",
                                   .reference = "Zhang and Burns, IEEE Transactions on Computers "
                                                "58(9), 2009; Baruah, Mok and Rosier, RTSS 1990",
                                   .scheduler = "g-edf",
                                   .model = "sporadic",
                                   .ties = "any",
                                   .deadlines = "arbitrary",
                                   .kind = TestKind::exact,
                                   .cost = 12,
                                   .models = kLocks | kNonPreemptive,
                                   .protocols = "srp"},
                                  analysis::qpa);

// B(t) for the t from the deadline `from` on to the next.
Time blocking_at(const System& system, Time from, Time given) {
    Time longest = given;
    const auto later = [&](std::int64_t task) { return system.tasks[at(task)].deadline > from; };
    for (std::size_t i = 0; i < system.extras.size(); i++) {
        longest = later(static_cast<std::int64_t>(i))
                      ? std::max(longest, system.extras[i].stretch())
                      : longest;
    }
    for (const Section& section : system.sections) {
        const bool shared = std::ranges::any_of(system.sections, [&](const Section& other) {
            return other.lock == section.lock && !later(other.task);
        });
        longest = shared && later(section.task) ? std::max(longest, section.length) : longest;
    }
    return longest;
}

}  // namespace

namespace analysis {

TestVerdict qpa(const System& system, const TestOptions& options, std::span<Time>) {
    if (system.processors != 1) {
        return kNotUni;
    }
    const int load = compare_utilisation(system, 1);
    if (load > 0) {
        return refuted("utilisation above 1");
    }
    Steps steps(options);
    const auto limit = nearer(load < 0 ? demand_limit(system.tasks, 1.0) : std::nullopt,
                              busy_period(system, steps));
    if (!limit) {
        return undecided("no bound of the intervals to look at");
    }
    switch (demand_fits(system.tasks, 1, 1, 0, *limit, 0, steps)) {
        case Fit::fits:
            break;
        case Fit::exceeds:
            return refuted("jobs released together demand more than there is time");
        case Fit::budget:
            return kBudget;
    }
    if (options.blocking == 0 && beyond(system) == kNothing) {
        return kAccepted;
    }
    std::vector<Time> deadlines{0};
    for (const Task& task : system.tasks) {
        deadlines.push_back(task.deadline);
    }
    std::ranges::sort(deadlines);
    for (std::size_t k = 0; k + 1 < deadlines.size(); k++) {
        const Time blocking = blocking_at(system, deadlines[k], options.blocking);
        if (blocking == 0 || deadlines[k] == deadlines[k + 1]) {
            continue;
        }
        switch (
            demand_fits(system.tasks, 1, 1, deadlines[k], deadlines[k + 1] - 1, blocking, steps)) {
            case Fit::fits:
                break;
            case Fit::exceeds:
                return not_accepted("with blocking only sufficient");
            case Fit::budget:
                return kBudget;
        }
    }
    return kAccepted;
}

}  // namespace analysis

}  // namespace deadbeat::sched
