// Exact schedulability on one preemptive processor, sporadic tasks: what a partitioned policy may
// admit. Deadlines below, at or beyond periods.
#pragma once

#include <span>

#include "deadbeat/sched/system.hpp"

namespace deadbeat::sched {

enum class Fits : int { no = 0, yes = 1, undecided = 2 };  // a number or the work got too large

// EDF, sum of C/T <= 1 known: quick processor-demand analysis.
Fits edf_fits(std::span<const Task> tasks);

// Fixed priorities, the most urgent first, sum of C/T <= 1 known: response times.
Fits fixed_priority_fits(std::span<const Task> tasks);

}  // namespace deadbeat::sched
