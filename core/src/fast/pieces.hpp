// What the lanes simulate: pieces, each a global scheduler of its own.
#pragma once

#include <string>
#include <vector>

#include "deadbeat/sched/batch.hpp"

namespace deadbeat::sched::fast {

// Parameters of one task, divided by the piece's unit.
struct Parameters {
    Time period, wcet, relative;
    std::int32_t task;  // in its system
};

// A whole system, or one cluster of it. Its tasks are in the order that wins ties.
struct Piece {
    std::size_t system;
    std::size_t first;  // of its parameters
    std::int32_t tasks;
    std::int32_t processors;  // no more than tasks
    std::int32_t bits;        // hold the index of a task
    bool wide;                // needs 64-bit lanes
    Time unit;                // common divisor of all parameters
    Time horizon;             // in units
    double work;              // about the releases before the horizon
    // Found:
    Time miss = -1;  // in units
};

struct Pieces {
    std::vector<Piece> list;
    std::vector<Parameters> parameters;
};

// Adds the pieces of system `i`, or returns false: only the general engine does it.
bool add_pieces(const Batch& batch, std::size_t i, const Options& options, Pieces& pieces);

// Whether `options` are something for the lanes at all.
bool suits_lanes(const Options& options, Model model);

}  // namespace deadbeat::sched::fast
