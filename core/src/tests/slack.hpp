// Interference bounds with slack, of the iterative tests for global EDF and fixed priorities.
//
// S_i is a proved lower bound of deadline - completion of every job of task i: the carried-in job
// of a window cannot execute in the last S_i before its deadline.
#pragma once

#include "shared.hpp"

namespace deadbeat::sched::analysis {

// floor(a / b) for 0 <= a, 0 < b below 2^52: the quotient in doubles is exact enough, since a
// fraction below an integer q = floor(a / b) + 1 lies at least 1 / b below it, and b q <= 2^53.
inline Time quotient(Time a, Time b) {
    return static_cast<Time>(static_cast<double>(a) / static_cast<double>(b));
}
// sums_fit() leaves parameters of up to 59 bits.
inline bool small(const System& system) {
    return std::ranges::all_of(system.tasks, [](const Task& t) {
        return t.period < Time{1} << 50 && t.deadline < Time{1} << 50;
    });
}

// Work of task i in a window of `whole` periods and `rest`, aligned at its deadline, under EDF.
inline Time edf_work(const Task& task, Time whole, Time rest, Time slack) {
    return whole * task.wcet + std::min(task.wcet, std::max<Time>(0, rest - slack));
}

// Work of task i in any window of `length` (Bertogna and Cirinei, RTSS 2007): the carried-in job
// as late as it can be, the others as early. Windows below 2^51.
inline Time window_work(const Task& task, Time length, Time slack) {
    const Time span = length + task.deadline - task.wcet - slack;
    const Time jobs = quotient(span, task.period);
    return jobs * task.wcet + std::min(task.wcet, span - jobs * task.period);
}

}  // namespace deadbeat::sched::analysis
