// The event-driven simulator for every policy.
#pragma once

#include <string>
#include <vector>

#include "deadbeat/sched/options.hpp"
#include "deadbeat/sched/policy.hpp"
#include "deadbeat/sched/system.hpp"

namespace deadbeat::sched {

// At one instant: completions, then deadlines, then releases, then dispatch. A job that completes
// at its deadline is on time.
struct TaskMetrics {
    std::int64_t released = 0;
    std::int64_t completed = 0;
    std::int64_t judged = 0;     // jobs whose deadline lies within what was simulated
    std::int64_t missed = 0;     // of those
    Time response_min = kNever;  // of completed jobs; kNever: none
    Time response_max = 0;
    Time tardiness_max = 0;
    Time slack_min = kNever;  // deadline - completion, of completed jobs; negative when late
    Wide response_sum = 0;
    Wide tardiness_sum = 0;
    Wide slack_sum = 0;
    std::int64_t preemptions = 0;      // it was running, is not complete, and does not run on
    std::int64_t migrations = 0;       // a job resumes on another processor than it last ran on
    std::int64_t cross_cluster = 0;    // of those, into another cluster
    std::int64_t task_migrations = 0;  // a job starts elsewhere than the task last ran
};

struct JobRecord {
    std::int64_t task, job;
    Time release, start, finish, deadline;  // start, finish: kNever where it did not
};

struct Segment {
    std::int64_t task, job, processor;
    Time from, to;
};

enum class Outcome : int {
    no_miss = 0,  // none in [0, until)
    miss = 1,     // first_miss is when
    budget = 2,   // no miss before the budget was used up, at `until`
    refused = 3,  // the policy cannot schedule the system, see `reason`
};

struct Result {
    Outcome outcome = Outcome::no_miss;
    std::string reason;
    Time first_miss = kNever;  // the earliest deadline that passed; also where it ran on
    std::int32_t first_miss_task = -1;
    std::int64_t first_miss_job = -1;
    Time until = 0;           // simulated [0, until)
    std::int64_t events = 0;  // see Options::budget
    // The state at `repeat_to` equals that at `repeat_from` (both -1: not looked for, or not
    // found).
    Time repeat_from = -1;
    Time repeat_to = -1;
    std::vector<TaskMetrics> tasks;  // empty without options.metrics
    std::vector<JobRecord> jobs;     // by completion or, unfinished, at the end by task
    std::vector<Segment> segments;   // by end
    bool truncated = false;
    std::vector<std::int32_t> placed;
    std::vector<std::string> remarks;
};

// What there is at an instant after its completions and before its releases. Equal words: equal
// futures.
struct Checkpoint {
    Time at;
    std::int64_t unfinished;  // jobs released and not complete
    std::vector<std::int64_t> words;
};

// How long to simulate.
struct Extent {
    Time horizon = kNever;  // stop here, without more ado; at most kTimeMax is simulated
    Time check_every = 0;   // > 0: compare the state at multiples of this; stop when it repeats
    std::vector<Checkpoint>* states = nullptr;  // rather keep those states, and do not stop
};

// Simulates `system`; `defects(system)` must be empty and the policy known. No exceptions but
// std::bad_alloc. Deterministic: equal arguments give equal results.
Result simulate(const System& system, const Options& options, const Extent& extent);

}  // namespace deadbeat::sched
