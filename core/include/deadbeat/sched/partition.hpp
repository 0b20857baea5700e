// Bin packing of tasks on processors or clusters.
#pragma once

#include <string>
#include <vector>

#include "deadbeat/sched/options.hpp"
#include "deadbeat/sched/system.hpp"

namespace deadbeat::sched {

const std::vector<std::string>& partition_heuristics();  // next-fit, first-fit, best-fit, worst-fit
// file, utilisation-desc, utilisation-asc, period-asc, period-desc, deadline-asc, density-desc
const std::vector<std::string>& partition_orders();

struct Partition {
    std::vector<std::int32_t> cluster;  // of every task, -1: fits nowhere
    std::int32_t first_unplaced = -1;  // the first task, in the order of placing, that fits nowhere
};

// Places tasks on `clusters` clusters of `capacity` processors each. Tasks with home >= 0 are
// placed there first. What fits: utilisation (sum of C/T <= capacity), density (C/min(D,T)), or
// exact (capacity 1: EDF by processor demand, or response times where `fixed_priority`). Exact
// arithmetic. With options.unplaced == "least-loaded" a task that fits nowhere goes to the least
// utilised cluster (and is still named first_unplaced).
Partition place(const System& system, const Options& options, std::int32_t clusters,
                std::int32_t capacity, bool fixed_priority);

}  // namespace deadbeat::sched
