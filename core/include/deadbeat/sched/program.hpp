// Runs a measured program again under other policies, priorities, CPUs, locks: when its jobs end.
//
// Fixed priorities and deadlines are as Linux has them: at each instant the most urgent ready
// threads have the CPUs that they may use; a thread stays where it was unless what runs there is as
// urgent. Of the same priority the first that became ready is first, of one instant the lower
// thread number; who is preempted, or loses an inherited priority, is before its equals.
// SCHED_DEADLINE: a constant bandwidth server per thread, without reclaiming; one that inherits is
// not throttled and spends no budget. Ordinary threads share a CPU as a fluid: each computes at its
// weight over the sum of weights there, so there are no slices, and each operation of theirs ends
// up to 1 ns late. A woken one takes the allowed CPU without a real-time thread, then with the
// least weight; later it moves only to a CPU that is idle, at once (the kernel: at its next tick).
// Switches, moves and system calls cost nothing.
//
// What real-time threads leave to others (`Limits`): with throttling, fixed priorities have
// `runtime` of each period on each CPU (what is above is taken from the next one), whatever waits,
// but for who inherits; periods are from `begin` on, -1: when the first of them runs. The fair
// server lets ordinary threads have `fair_runtime` of each `fair_period` in which they are there,
// above fixed priorities, as late in it as that goes; what they had before counts.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "deadbeat/sched/time.hpp"

namespace deadbeat::sched::program {

enum Policy : std::int64_t { kOrdinary, kFifo, kRoundRobin, kDeadline };
// Priority 1 to 99, or an ordinary thread's weight (1024: nice 0). `cpus`: a bit each. `how`: jobs
// are released at instants (0), or so long after the end of the one before (1). `wake`: from
// release to ready.
// `first`: the CPU where it is before it runs, and one; 0: the lowest that it may use.
struct Thread {
    std::int64_t policy, priority, cpus, how;
    Time runtime, deadline, period;
    Time wake;
    std::int64_t first;
};
inline constexpr std::size_t kThreadFields = 9;

enum Kind : std::int64_t { kCompute, kLock, kUnlock, kSuspend, kWake };
// `target`: of a lock, or of the thread that is released.
struct Operation {
    std::int64_t kind, target;
    Time ns;
};
inline constexpr std::size_t kOperationFields = 3;

// None: unlocking frees it and wakes the most urgent waiter, and whoever runs first takes it (the
// kernel's futex); its waiters queue by the priorities they have of their own. Inherit: the most
// urgent waiter gets it. Protect: none, at the ceiling from the request on. Spin: the first that
// spins on a CPU has it.
enum Protocol : std::int64_t { kPlain, kInherit, kProtect, kSpin };
struct Lock {
    std::int64_t protocol, ceiling;
};

// -1: not before the horizon.
struct Outcome {
    Time release, start, end;
};
inline constexpr std::size_t kOutcomeFields = 3;

// On each CPU; a period of 0: there is none.
struct Limits {
    Time runtime = 0, period = 0, fair_runtime = 0, fair_period = 0, begin = -1;
};
inline constexpr std::size_t kLimitsFields = 5;

// `job_ends`: jobs of the threads up to each; `op_ends`: operations of the jobs up to each.
// `releases`: as `how` says (the first one: an instant), or -1: the next wake of the thread, which
// may come early.
struct Program {
    std::span<const Thread> threads;
    std::span<const std::int64_t> job_ends, releases, op_ends;
    std::span<const Operation> operations;
    std::span<const Lock> locks;
    Limits limits;
};

inline constexpr Time kLongest = Time{1} << 50;  // of a parameter, ns: 13 days
inline constexpr std::int64_t kMostCpus = 64, kMostThreads = 1024;

// Why it cannot run; empty: it can.
std::string refusal(std::int64_t cpus, const Program& program, Time horizon);

// What of each job happens before `horizon`. Takes what is not refused.
std::vector<Outcome> run(std::int64_t cpus, const Program& program, Time horizon);

}  // namespace deadbeat::sched::program
