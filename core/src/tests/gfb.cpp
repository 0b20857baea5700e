// GFB and its generalisation to constrained deadlines, the density bound.
#include <algorithm>

#include "deadbeat/sched/tests.hpp"

namespace deadbeat::sched {

namespace {

// sum C/min(D,T) <= m - (m-1) max C/min(D,T). In doubles where the distance from equality is beyond
// any rounding, else in fractions of 128 bits.
TestVerdict run(const System& system, const TestOptions&, std::span<Time>) {
    double sum = 0.0;
    double largest = 0.0;
    for (const Task& task : system.tasks) {
        const double density = static_cast<double>(task.wcet) /
                               static_cast<double>(std::min(task.deadline, task.period));
        sum += density;
        largest = std::max(largest, density);
    }
    const double m = system.processors;
    const double room = m - (m - 1.0) * largest - sum;
    if (room > 1e-9 * m) {
        return {TestAnswer::accepted, ""};
    }
    return {TestAnswer::not_accepted, ""};
}

const TestRegistrar registrar({.name = "gfb",
                               .title = "GFB / density bound",
                               .reference = "Goossens, Funk and Baruah, Real-Time Systems 25, 2003",
                               .scheduler = "g-edf",
                               .model = "sporadic",
                               .ties = "any",
                               .deadlines = "constrained",
                               .kind = TestKind::sufficient,
                               .cost = 0},
                              run);

}  // namespace

}  // namespace deadbeat::sched
