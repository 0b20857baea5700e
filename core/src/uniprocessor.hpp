// Exact schedulability on one preemptive processor, sporadic tasks: what a partitioned policy may
// admit. Deadlines below, at or beyond periods.
#pragma once

#include <span>

#include "deadbeat/sched/system.hpp"

namespace deadbeat::sched {

enum class Fits : int { no = 0, yes = 1, undecided = 2 };  // a number or the work got too large

// Tasks looked at before the answer is `undecided`; about a second.
inline constexpr std::int64_t kFitSteps = 200'000'000;

// EDF, sum of C/T <= 1 known: quick processor-demand analysis. Takes what it looks at off `steps`.
Fits edf_fits(std::span<const Task> tasks, std::int64_t& steps);

// Fixed priorities, the most urgent first, sum of C/T <= 1 known: response times. Likewise.
Fits fixed_priority_fits(std::span<const Task> tasks, std::int64_t& steps);

}  // namespace deadbeat::sched
