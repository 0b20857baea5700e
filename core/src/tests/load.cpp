// LOAD. With d = max C_i / min(D_i, T_i) and mu = m - (m - 1) d, accepted when
// load = max over t of sum DBF_i(t) / t is at most
// max(mu - (ceil(mu) - 1) d, (ceil(mu) - 1) - (ceil(mu) - 2) d).
//
// Derivation, for any mu' <= mu: let a job miss at t0, and s be the earliest instant with more than
// mu' (t0 - s) of work (due by t0) executed in [s, t0); that is so at the start of the busy time of
// the missing job's task, which executes less than d of it while else m processors are busy. Fewer
// than mu' tasks carry work in at s, or s were earlier; none of them executed less than d (s - a)
// since its own busy time began at a, or s were at most a; so each carries in at most d (t0 - s).
// Hence mu' < load + (ceil(mu') - 1) d. Best are mu' = mu and mu' = ceil(mu) - 1.
#include "shared.hpp"

namespace deadbeat::sched::load {

namespace {

using namespace analysis;

struct Share {  // numerator may be negative
    Wide numerator, denominator;
};

// Whether load <= bound.
std::optional<TestVerdict> within(const System& system, Share bound, Steps& steps) {
    const Wide divisor = greatest_divisor(bound.numerator, bound.denominator);
    if (bound.numerator <= 0) {
        return std::nullopt;
    }
    if (bound.numerator / divisor > kTimeMax || bound.denominator / divisor > kParameterMax) {
        return kTooLarge;
    }
    const auto p = static_cast<Time>(bound.numerator / divisor);
    const auto q = static_cast<Time>(bound.denominator / divisor);
    FractionSum sum;
    for (const Task& task : system.tasks) {
        sum.add(task.wcet, task.period);
    }
    sum.add(-static_cast<Wide>(p), q);
    const int sign = sum.compare(0);
    if (sign > 0) {
        return std::nullopt;
    }
    const double slope = static_cast<double>(p) / static_cast<double>(q);
    const auto near = sign < 0 ? demand_limit(system.tasks, slope) : std::nullopt;
    const auto limit = nearer(near, period_limit(system));
    if (!limit) {
        return undecided("no bound of the intervals to look at");
    }
    switch (demand_fits(system.tasks, p, q, 0, *limit, 0, steps)) {
        case Fit::fits:
            return kAccepted;
        case Fit::exceeds:
            return std::nullopt;
        case Fit::budget:
            break;
    }
    return kBudget;
}

TestVerdict run(const System& system, const TestOptions& options, std::span<Time>) {
    Time c = 0;
    Time d = 1;
    for (const Task& task : system.tasks) {
        const Time window = std::min(task.deadline, task.period);
        if (compare_fractions(task.wcet, window, c, d) > 0) {
            c = task.wcet;
            d = window;
        }
    }
    if (c > d) {
        return not_accepted("a task needs more time than its period or deadline leaves");
    }
    const Wide m = system.processors;
    const Wide mu = m * d - (m - 1) * c;  // times d; at least d
    const Wide above = (mu + d - 1) / d - 1;
    Steps steps(options);
    if (const auto found = within(system, {mu - above * c, d}, steps)) {
        return *found;
    }
    if (above >= 1) {
        if (const auto found = within(system, {above * d - (above - 1) * c, d}, steps)) {
            return *found;
        }
    }
    return not_accepted("");
}

const TestRegistrar registrar({.name = "load",
                               .title = "LOAD",
                               .reference = "Baruah and Baker, Real-Time Systems 43, 2009",
                               .scheduler = "g-edf",
                               .model = "sporadic",
                               .ties = "any",
                               .deadlines = "arbitrary",
                               .kind = TestKind::sufficient,
                               .cost = 30},
                              run);

}  // namespace

}  // namespace deadbeat::sched::load
