// How a task system is simulated.
#pragma once

#include <string>
#include <vector>

#include "deadbeat/sched/time.hpp"

namespace deadbeat::sched {

struct Costs {
    Time context_switch = 0;  // a processor takes up another job than it last ran
    Time migration = 0;       // a job resumes, or a task continues, on another processor
    Time cache_reload = 0;    // a job resumes on its processor after another job ran there
    // More than `migration`, from one cluster of `cluster_size` processors to another, whatever the
    // policy: those of a cluster share a cache.
    Time migration_across = 0;
    bool any() const {
        return context_switch > 0 || migration > 0 || cache_reload > 0 || migration_across > 0;
    }
};

// When jobs are released.
enum class Arrival : int {
    periodic = 0,  // exactly T apart, from the offset
    sporadic = 1,  // T plus a random delay apart, see `sporadic_delay`
    listed = 2,    // at the instants of `releases`, whatever offsets are
};

struct Options {
    std::string policy = "g-edf";
    std::string ties = "index";              // see ties.hpp
    std::string priorities = "rm";           // of fixed-priority policies: rm, dm, given
    std::string partition = "auto";          // see partition.hpp
    std::string order = "utilisation-desc";  // in which tasks are placed; see partition.hpp
    std::string admission = "auto";          // what a cluster can take; see partition.hpp
    std::string unplaced = "reject";         // reject, or least-loaded
    std::string balance = "both";   // loose clustered: none, offline, pull, both, sticky, release
    std::int32_t cluster_size = 2;  // processors of a cluster, of clustered policies
    std::int64_t threshold_numerator = 0;  // EDF-US: xi; 0: the policy's own, m/(2m-1)
    std::int64_t threshold_denominator = 1;
    Costs costs;
    Arrival arrival = Arrival::periodic;
    std::uint64_t seed = 0;       // of sporadic delays
    double sporadic_delay = 0.5;  // the longest delay, as a share of T
    // Of each task, ascending, at least T apart; after the last one there are no more.
    std::vector<std::vector<Time>> releases;
    bool stop_at_miss = true;  // else jobs that missed run on, with the priority they had
    // A release while the predecessor is unfinished: its job waits (false), or never runs and
    // counts as a miss (true; what deadbeat's own runtime does by default).
    bool skip_overruns = false;
    Time horizon = 0;  // simulate [0, horizon); 0: as long as the verdict needs
    // Scheduling points: releases of jobs, and instants at which the policy itself asked to decide
    // (next_decision()). The first one due after so many ends the simulation; those of one instant
    // come together. A periodic system under a policy that never asks so has a horizon that is
    // known before.
    std::int64_t budget = 5'000'000;
    bool metrics = true;                   // per-task figures
    bool record_jobs = false;              // a JobRecord per job
    bool record_segments = false;          // a Segment per stretch of execution
    std::int64_t record_max = 10'000'000;  // of each; more are dropped and `truncated` is set
    // Left out: segments that end, jobs that are complete and due, before this instant.
    Time record_from = 0;
};

// The words that an option takes: priorities, partition, order, admission, unplaced, balance. Empty
// for another name.
const std::vector<std::string>& option_words(const std::string& option);

}  // namespace deadbeat::sched
