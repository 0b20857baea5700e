// What no scheduler can do without: C <= D, U <= m, and in every interval no more demand than m
// processors can serve. Jobs released together from time 0 on show that demand, so what is refuted
// is not schedulable for sporadic tasks, nor for periodic ones without offsets. Whoever waits for
// locks, suspends itself or is not preempted has that work too, and may be without jitter.
#include "shared.hpp"

namespace deadbeat::sched::necessary {

namespace {

using namespace analysis;

TestVerdict run(const System& system, const TestOptions& options, std::span<Time>) {
    if (!fits_deadlines(system.tasks)) {
        return refuted("a task needs more time than its deadline leaves");
    }
    // Jobs of a task run one after the other.
    if (std::ranges::any_of(system.tasks, [](const Task& t) { return t.wcet > t.period; })) {
        return refuted("a task has more work than its period");
    }
    const int load = compare_utilisation(system, system.processors);
    if (load > 0) {
        return refuted("utilisation above the processors");
    }
    const auto near =
        load < 0 ? demand_limit(system.tasks, system.processors) : std::optional<Time>();
    const auto limit = nearer(near, period_limit(system));
    if (!limit) {
        return undecided("no bound of the intervals to look at");
    }
    Steps steps(options);
    switch (demand_fits(system.tasks, system.processors, 1, 0, *limit, 0, steps)) {
        case Fit::fits:
            return not_accepted("nothing speaks against it, which is no proof");
        case Fit::exceeds:
            return refuted("jobs released together demand more than the processors serve");
        case Fit::budget:
            break;
    }
    return kBudget;
}

const TestRegistrar registrar({.name = "necessary",
                               .title = "Necessary conditions: C <= D, U <= m, load <= m",
                               .reference = "Baruah, Mok and Rosier, RTSS 1990; Baruah and Fisher, "
                                            "Real-Time Systems 43, 2009",
                               .scheduler = "any",
                               .model = "sporadic",
                               .ties = "any",
                               .deadlines = "arbitrary",
                               .kind = TestKind::necessary,
                               .cost = 11,
                               .models = kLocks | kJitter | kSuspension | kNonPreemptive |
                                         kAffinity},
                              run);

}  // namespace

}  // namespace deadbeat::sched::necessary
