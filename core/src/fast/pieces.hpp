// What the lanes simulate: pieces, each a global scheduler of its own.
#pragma once

#include <vector>

#include "deadbeat/sched/batch.hpp"
#include "lanes.hpp"

namespace deadbeat::sched::fast {

// One task, in the unit of its piece.
struct Member {
    Time period, wcet, relative;
    std::int32_t task;  // in its system
    bool fixed;         // its jobs come in the order of the members, before those by deadline
    Time slack = 0;     // found: sum over its complete jobs
    std::int64_t completed = 0;  // how many these are
};

// A whole system, or one cluster of it. Its members are in the order that wins ties.
struct Piece {
    std::size_t system;
    std::size_t first;  // of its members
    std::int32_t tasks;
    std::int32_t processors;  // no more than tasks
    std::int32_t bits;        // below a time in a key
    bool metrics;             // else only the first miss is found
    Kind kind;
    bool wide;     // needs 64-bit lanes
    Time unit;     // common divisor of the system's parameters
    Time horizon;  // in units
    double work;   // about the releases before the horizon
    // Found, times in units:
    Time miss = -1;
    std::int64_t completed = 0, missed = 0;
    std::int64_t preemptions = 0, migrations = 0, task_migrations = 0;
    Time slack_min = kNever;
    Time response_max = 0;
    Time tardiness = 0;  // sum over its complete jobs
};

struct Pieces {
    std::vector<Piece> list;
    std::vector<Member> members;
    // Of every system: [0, end) is simulated if nothing misses; whether that is its hyper-period.
    std::vector<Time> ends;
    std::vector<std::uint8_t> whole;
};

// Whether `options` are something for the lanes at all.
bool suits_lanes(const Options& options, Model model);

// Adds the pieces of system `i`, or returns false: only the general engine does it.
bool add_pieces(const Batch& batch, std::size_t i, const Options& options, Pieces& pieces);

// Makes a piece that was simulated up to its first miss one that runs on; false: only the general
// engine does it.
bool make_run_on(Piece& piece, Pieces& pieces);

}  // namespace deadbeat::sched::fast
