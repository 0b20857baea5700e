// GFB and its generalisation to any deadlines, the density bound:
// sum d_i <= m - (m - 1) max d_i with d_i = C_i / min(D_i, T_i).
//
// Why it also holds for D > T, where jobs of a task wait for each other: on processors of speeds
// d_1, ..., d_n, one per task, every job ends within min(D, T). Whenever the work done for a task
// on m unit processors lags behind that, the task has a ready job, so either it runs (at speed
// 1 >= d_i) or m processors do work with deadlines no later; hence no job of EDF lags at its
// deadline (Funk, Goossens and Baruah, RTSS 2001, with tasks in place of jobs).
#include "shared.hpp"

namespace deadbeat::sched {

namespace {

using namespace analysis;

TestVerdict exactly(const System& system) {
    FractionSum sum;
    const Task* densest = system.tasks.data();
    for (const Task& task : system.tasks) {
        const Time within = std::min(task.deadline, task.period);
        sum.add(task.wcet, within);
        if (compare_fractions(task.wcet, within, densest->wcet,
                              std::min(densest->deadline, densest->period)) > 0) {
            densest = &task;
        }
    }
    sum.add(static_cast<Wide>(system.processors - 1) * densest->wcet,
            std::min(densest->deadline, densest->period));
    return sum.compare(system.processors) <= 0 ? kAccepted : not_accepted("");
}

const TestRegistrar gfb_registrar(
    {.name = "gfb",
     .title = "GFB / density bound",
     .reference = "Goossens, Funk and Baruah, Real-Time Systems 25, 2003",
     .scheduler = "g-edf",
     .model = "sporadic",
     .ties = "any",
     .deadlines = "arbitrary",
     .kind = TestKind::sufficient,
     .cost = 0},
    analysis::gfb);

}  // namespace

namespace analysis {

TestVerdict gfb(const System& system, const TestOptions&, std::span<Time>) {
    double sum = 0.0;
    double largest = 0.0;
    for (const Task& task : system.tasks) {
        const double density = static_cast<double>(task.wcet) /
                               static_cast<double>(std::min(task.deadline, task.period));
        sum += density;
        largest = std::max(largest, density);
    }
    const double m = system.processors;
    const double lhs = sum + (m - 1.0) * largest;
    const int sign = clear_sign(lhs, m, lhs * rounding(system.tasks.size()));
    if (sign == 0) {
        return exactly(system);
    }
    return sign < 0 ? kAccepted : not_accepted("");
}

}  // namespace analysis

}  // namespace deadbeat::sched
