// The lanes: many task systems simulated at a time, with the general engine's results.
#pragma once

#include <string>
#include <vector>

#include "deadbeat/sched/batch.hpp"

namespace deadbeat::sched::fast {

// Fills the rows of the systems that the lanes can do and sets their `done`.
void decide_in_lanes(const Batch& batch, const Options& options, Model model, int threads,
                     const std::string& lanes, std::vector<BatchRow>& rows,
                     std::vector<std::uint8_t>& done);

// Names of what decide_in_lanes() takes on this machine, widest first.
std::vector<std::string> lane_names();

// Jobs released before `until`.
std::int64_t jobs_before(const System& system, Time until);

}  // namespace deadbeat::sched::fast
