// Many task systems at once, one per SIMD lane: what the kernels and their callers share.
//
// Kernels are compiled once per instruction set (lanes_*.cpp). Nothing here may instantiate a
// template of the standard library in those files: the linker could keep a copy that was compiled
// for an instruction set that the machine lacks.
#pragma once

#include <cstdint>

namespace deadbeat::sched::fast {

inline constexpr int kLanesMax = 16;
inline constexpr int kUnrolledSlots = 8;

// One group of lanes. Every array has a row per task (or slot) and a column per lane.
//
// An instant or duration t is stored as t << bits, `low` = (1 << bits) - 1; the low bits of a
// key hold the task (0 is the one that wins ties), those of a finishing time the slot. So one
// integer comparison orders keys, and a finishing time f is at most an instant t exactly if
// f << bits | slot <= (t << bits | low).
template <class I>
struct Group {
    int tasks = 0;         // rows of the tasks: the most of any lane
    int slots = 0;         // processors of each lane
    int waiting = 0;       // rows [waiting, ...) of wait_key hold no job in any lane
    bool implicit = true;  // relative == period in all lanes
    I* period = nullptr;
    I* wcet = nullptr;
    I* relative = nullptr;   // deadlines
    I* release = nullptr;    // next releases (instant | task), ascending; tasks + 1 rows
    I* wait_key = nullptr;   // keys of the jobs that wait, ascending, kNone behind; tasks + 2 rows
    I* wait_rest = nullptr;  // and what they have left to execute
    I* key = nullptr;        // of the job in each slot
    I* finish = nullptr;     // when it finishes unless it is preempted | slot
    I* stop = nullptr;  // one row: horizon | low, or, once a miss is certain, its deadline without
    I* low = nullptr;   // one row
    std::uint32_t active = 0;  // lanes in use
    // Only of fixed keys (or with metrics):
    I* wait_due = nullptr;  // deadlines (without low bits), kNone: no job
    I* due = nullptr;       // of the jobs in the slots, likewise
    I* fixed = nullptr;     // key of every task, kNone: its deadline
    // Only with metrics, where the low bits of a key are task << 1 | the job has run before:
    I* place = nullptr;      // processor (1 << its number) of the job in each slot, 0: none yet
    I* home = nullptr;       // where the slot's task ran last, 0: nowhere
    I* last = nullptr;       // the same of every task
    I* state = nullptr;      // of every task: 0 no job, 1 a job, 2 more jobs behind it (run on)
    I* slack = nullptr;      // of every task: sum over its complete jobs
    I* free = nullptr;       // one row each: processors without a job;
    I* now = nullptr;        // the instant that was reached;
    I* missed = nullptr;     // the earliest deadline that a job misses, kNone: no miss so far;
    I* late = nullptr;       // jobs that were complete after their deadline;
    I* tardiness = nullptr;  // and by how much in all;
    I* slack_min = nullptr;  // kNone: no job complete
    I* response_max = nullptr;
    I* preemptions = nullptr;
    I* migrations = nullptr;
    I* task_migrations = nullptr;
};

// Keys from kNone - 2^16 on are no jobs.
template <class I>
inline constexpr I kNone = static_cast<I>((std::uint64_t{1} << (8 * sizeof(I) - 1)) - 1);
template <class I>
inline constexpr I kNoJob = static_cast<I>(kNone<I> - (1 << 16));

// Runs until a lane is done; returns these lanes.
template <class I>
using Kernel = std::uint32_t (*)(Group<I>&);

// How far a simulation goes, and what orders the jobs.
enum class Kind : int { stop, stop_fixed, run_on, run_on_fixed };

// The kernels of one instruction set.
struct InstructionSet {
    const char* name;
    int lanes32, lanes64;
    Kernel<std::int32_t> (*verdict32)(int slots, Kind kind);  // not for run_on
    Kernel<std::int64_t> (*verdict64)(int slots, Kind kind);
    Kernel<std::int32_t> (*metrics32)(int slots, Kind kind);  // not for run_on
    Kernel<std::int64_t> (*metrics64)(int slots, Kind kind);
};

const InstructionSet& baseline_kernels();
const InstructionSet& avx2_kernels();
const InstructionSet& avx512_kernels();

}  // namespace deadbeat::sched::fast
