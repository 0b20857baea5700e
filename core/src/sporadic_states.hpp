// Every sporadic arrival sequence of a small system, by exploring states.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "deadbeat/sched/system.hpp"

namespace deadbeat::sched {

// Tasks with D <= T on identical processors, scheduled globally and preemptively by keys that a job
// keeps: as JobOrder (policy.hpp) has them.
struct SporadicGlobal {
    std::int32_t processors = 1;
    std::vector<Task> tasks;
    std::vector<std::optional<std::int64_t>> levels;
    std::vector<std::int32_t> rank;  // between equal deadlines or levels, lower wins
};

struct Exploration {
    enum class Found : int { no_miss, miss, budget, too_large };
    Found found = Found::budget;
    std::int64_t states = 0;                  // kept
    Time first_miss = kNever;                 // of the sequence found
    std::int32_t task = -1;                   // whose
    std::vector<std::vector<Time>> releases;  // of every task, in a sequence that misses then
};

// Releases at integer instants; at most `budget` states, less those `used`, to which it adds. Any
// deadlines: those beyond periods are too large.
Exploration explore(const SporadicGlobal& system, std::int64_t budget, std::int64_t& used);

}  // namespace deadbeat::sched
