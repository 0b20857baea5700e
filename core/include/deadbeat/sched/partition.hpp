// Bin packing of tasks on processors or clusters.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "deadbeat/sched/options.hpp"
#include "deadbeat/sched/system.hpp"

namespace deadbeat::sched {

// auto, next-fit, first-fit, best-fit, worst-fit
const std::vector<std::string>& partition_heuristics();
// What `auto` stands for: first-fit on single processors, which finds room for the most; worst-fit
// on clusters, as no bound says that a full cluster meets its deadlines. Other words: themselves.
const std::string& heuristic_for(const std::string& partition, std::int32_t capacity);
// file, utilisation-desc, utilisation-asc, period-asc, period-desc, deadline-asc, density-desc;
// equal tasks in the order of the file
const std::vector<std::string>& partition_orders();
// Heuristic and order, of all.
const std::vector<std::array<std::string, 2>>& placing_rules();
// In place of a heuristic: the first of all in which every task finds a place, the order of the
// options first; else, with exact admission, what a search over all placements finds. Where none
// exists for synchronous tasks under p-edf or p-fp, no task has a place; else there is a refusal.
inline constexpr const char* kAnyPlacement = "any";
const std::vector<std::string>& partition_admissions();  // auto, utilisation, density, exact
// What `auto` stands for: exact where it is exact, on single processors under the preemptive
// policies of priorities (no sum of C/T says what fixed priorities or short deadlines take);
// utilisation elsewhere.
const std::string& admission_for(const Options& options, std::int32_t capacity);

struct Partition {
    std::vector<std::int32_t> cluster;  // of every task, -1: fits nowhere
    std::int32_t first_unplaced = -1;  // the first task, in the order of placing, that fits nowhere
    std::vector<std::int32_t> unplaced;  // all of them, in that order
    // Why nothing was placed: an unknown option, a home that is not there, numbers out of reach.
    std::string refusal;
};

// Places tasks on `clusters` clusters of `capacity` processors each. Tasks with home >= 0 are
// placed there first, unasked. What fits: utilisation (sum of C/T <= capacity), density
// (C/min(D,T)), or exact (capacity 1: EDF by processor demand, or response times where
// `fixed_priority`; undecided where a busy period is too long: then there is no room). Exact
// arithmetic. Next fit starts at the cluster that took the last task; best
// fit takes the fullest cluster that fits, worst fit the emptiest, by what the admission adds up
// (exact: utilisation), ties to the lowest. With options.unplaced == "least-loaded" a task that
// fits nowhere goes to the least utilised cluster (and is still named unplaced).
//
// Sources: Johnson, Near-optimal bin packing algorithms, 1973; for tasks Dhall and Liu, Operations
// Research 26(1), 1978.
Partition place(const System& system, const Options& options, std::int32_t clusters,
                std::int32_t capacity, bool fixed_priority);

// Whether any placement on single processors, the homes of tasks kept, meets all deadlines of
// sporadic tasks. Nothing: not known after so many elementary steps.
std::optional<bool> placeable(const System& system, Options options, bool fixed_priority,
                              std::int64_t steps);

}  // namespace deadbeat::sched
