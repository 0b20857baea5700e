// EDF on one processor, exactly, for any deadlines: U <= 1 and DBF(t) <= t for every t, looked at
// from the longest t that matters down.
//
// Exact for sporadic tasks and for periodic ones released together. With blocking B by a
// non-preemptive section, DBF(t) + B <= t for t < max D as well, which is sufficient: who blocks
// has a deadline beyond t, so D > t.
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
                                   .cost = 12},
                                  analysis::qpa);

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
    if (options.blocking == 0) {
        return kAccepted;
    }
    Time longest = 0;
    for (const Task& task : system.tasks) {
        longest = std::max(longest, task.deadline);
    }
    switch (demand_fits(system.tasks, 1, 1, 0, longest - 1, options.blocking, steps)) {
        case Fit::fits:
            return kAccepted;
        case Fit::exceeds:
            return not_accepted("with blocking only sufficient");
        case Fit::budget:
            break;
    }
    return kBudget;
}

}  // namespace analysis

}  // namespace deadbeat::sched
