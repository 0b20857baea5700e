// Jobs with sections at given places, under fixed priorities or EDF and a protocol of locks, bound
// to processors, in clusters or global: what the bounds of core/src/tests are attacked with.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "deadbeat/sched/system.hpp"
#include "deadbeat/sched/verdict.hpp"

namespace deadbeat::sched::locks {

// In parts of a job: a lock, or one of these.
inline constexpr std::int64_t kCompute = -1, kSuspend = -2, kStretch = -3;

// What a job does next: `length` with lock `what`, or computing, suspended, or not preempted.
struct Part {
    std::int64_t job, what;
    Time length;
};
inline constexpr std::size_t kPartFields = 3;

// Its response counts from `arrival`.
struct Job {
    std::int64_t task;
    Time arrival, release;
};
inline constexpr std::size_t kJobFields = 3;

// Jobs in the order of their releases, then those that others release; their parts, in the order of
// jobs; and which job releases which.
struct Pattern {
    std::vector<Job> jobs;
    std::vector<Part> parts;
    std::vector<std::pair<std::size_t, std::size_t>> follows = {};
};

// How patterns are drawn: releases up to `horizon`, the first one of each task in [0, window] (0:
// anywhere in its period), all from `seed`.
struct Drawing {
    Time horizon, window;
    std::uint64_t seed;
};

// Names of the policies and protocols that are simulated.
std::vector<std::string> policies();
std::vector<std::string> protocols();

struct Scheduling {
    std::string policy, protocol;
};

// Why `system` is not simulated so; empty: it is.
std::string refusal(const System& system, const Scheduling& how);

void draw(const System& system, const Drawing& drawing, std::uint64_t number, Pattern& pattern);

// Response of each job of `pattern`. At an instant parts end first; then jobs are released, one
// after the other as listed, and processors choose after each. `together`: they choose when all
// are released, so that what is not preempted began an instant before at the latest.
std::vector<Time> responses(const System& system, const Scheduling& how, const Pattern& pattern,
                            bool together);

// The longest response of each task over patterns number first to first + count - 1; 0: no job.
std::vector<Time> worst(const System& system, const Scheduling& how, const Drawing& drawing,
                        std::uint64_t first, std::uint64_t count);

// `task` waits for a lock that `holder` holds (-1: nobody yet), or holds it itself.
struct Hold {
    std::int64_t task, job, lock, holder;
    Time from, to;
};
inline constexpr std::size_t kHoldFields = 6;

// What patterns say: of all of them the figures of each task, and their jobs where these are few;
// of the first that misses, else of the one that is nearest to it, everything.
struct Found {
    Verdict verdict;
    std::vector<JobRecord> all;
    std::vector<Hold> holds;
};

// `patterns` of them, drawn as `longer` and `dense` in turn; fewer where `budget` instants are used
// up.
Found decide(const System& system, const Scheduling& how, const Drawing& longer,
             const Drawing& dense, std::uint64_t patterns, std::int64_t budget);

}  // namespace deadbeat::sched::locks
