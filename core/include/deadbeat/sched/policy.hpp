// The policy interface: one file under src/policies/ is one policy, and registers itself.
//
// The engine owns time, releases, execution and placement; a policy only says, at every scheduling
// point, which tasks should run and on which range of processors.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "deadbeat/sched/options.hpp"
#include "deadbeat/sched/system.hpp"

namespace deadbeat::sched {

// What a task is doing. Jobs of a task run one after the other, oldest first: only the oldest
// unfinished job (the head) is ready; `pending` counts it and those behind it.
struct TaskState {
    std::int64_t pending = 0;          // released, not complete; 0: nothing to run
    std::int64_t job = 0;              // index of the head job, 0 for the first
    Time release = 0;                  // of the head job
    Time deadline = 0;                 // of the head job, absolute
    Time remaining = 0;                // of the head job, costs charged so far included
    Time next_release = 0;             // of the next job not yet released
    std::int32_t processor = -1;       // it runs on now, or -1
    std::int32_t last_processor = -1;  // it ran on last (also of an earlier job), or -1
    bool started = false;              // the head job has run
    bool missed = false;               // the head job's deadline passed
    bool ready() const { return pending > 0; }
};

// One task that should run from now on, on one of processors [first, first + count).
struct Choice {
    std::int32_t task;
    std::int32_t first;
    std::int32_t count;
    std::int32_t tier;  // tiers are placed one after the other; order within a tier is priority
};

// What a policy may look at. Times come in any unit (decide() divides all of them by a common
// divisor, unless unit_matters): a decision must not depend on it; a quantum is derived from
// common_divisor(system), and remarks and refusals name no times. `rank[i]` is the place of task i
// under the tie rule: lower wins.
struct Context {
    System system;
    const Options* options;
    std::vector<std::int32_t> rank;
};

// Facts about a policy, shown with every verdict. As registered they hold whatever the options are;
// facts_of() tells them for given ones.
struct PolicyInfo {
    std::string name;       // g-edf
    std::string title;      // Global EDF
    std::string reference;  // where it is defined
    // Decision is a function of the ready jobs (parameters, remaining work), nothing else.
    bool memoryless;
    // A job never finishes later when execution times shrink: WCET simulation covers all of them.
    bool predictable;
    std::string predictable_reason;  // source, or why not
    bool clusters = false;           // cluster_size matters
    bool partitions = false;         // partition, order, admission matter
    bool fixed_priority = false;     // priorities matters
    bool implicit_only = false;      // refuses D != T
    // Rounds to whole units of time: decide() leaves the unit alone.
    bool unit_matters = false;
};

// A policy under which in every cluster the ready jobs with the smallest keys run, and a job keeps
// its key: the level of its task, or behind all of these its absolute deadline; then the rank.
struct JobOrder {
    std::int32_t processors = 0;                     // of each cluster
    std::vector<std::vector<std::int32_t>> members;  // tasks of each cluster
    std::vector<std::optional<std::int64_t>> level;  // of each task; lower wins
};

class Policy {
  public:
    virtual ~Policy() = default;

    // Once, before time 0. Returns "" or why the system cannot be scheduled by this policy
    // ("task 3 fits on no processor"); `placed()` tells where tasks went.
    virtual std::string prepare(const Context& context) = 0;

    // Appends what should run from `now` on. `states[i]` belongs to task i. Every choice must be
    // ready, named once, and find a free processor in its range.
    virtual void choose(Time now, const std::vector<TaskState>& states,
                        std::vector<Choice>& choices) = 0;

    // The cluster of processor p (0 where there is one cluster); counts cross-cluster migrations.
    virtual std::int32_t cluster_of(std::int32_t processor) const {
        (void)processor;
        return 0;
    }

    // Cluster every task was bound to, empty where there is no binding. After a refusal: with -1
    // for tasks that found no place, which makes the verdict `no` rather than `undecided`.
    virtual std::vector<std::int32_t> placed() const { return {}; }
    // Remarks on the preparation a person should see ("task 3 fits nowhere: cluster 1 takes it").
    virtual std::vector<std::string> remarks() const { return {}; }

    // After prepare(), where the policy is no more than that: batches are then simulated many
    // systems at a time (src/fast). Must say the same as choose().
    virtual std::optional<JobOrder> order() const { return std::nullopt; }

    // --- policies with instants or state of their own --------------------------------------------

    // The next instant after `now` at which the decision may change although no job is released
    // or completes before (quantum, zero laxity, exhausted budget). Called after choose().
    virtual Time next_decision(Time now, const std::vector<TaskState>& states) {
        (void)now, (void)states;
        return kNever;
    }
    // A job of `task`, whose queue was empty, was released at `now`.
    virtual void woken(Time now, std::int32_t task, const std::vector<TaskState>& states) {
        (void)now, (void)task, (void)states;
    }
    // The head job of `task` completed at `now`; where ready() the next one is now the head.
    virtual void completed(Time now, std::int32_t task, const std::vector<TaskState>& states) {
        (void)now, (void)task, (void)states;
    }
    // `task` executed for [now - amount, now).
    virtual void executed(Time now, std::int32_t task, Time amount) {
        (void)now, (void)task, (void)amount;
    }
    // State beyond that of the jobs, relative to `now`, so that equal futures give equal words. The
    // engine saves pending, remaining, release and next_release of every task and, for a policy
    // that is not memoryless, `processor`; what else decides (job, last_processor) is saved here.
    virtual void save_state(Time now, std::vector<std::int64_t>& words) const {
        (void)now, (void)words;
    }
};

using PolicyFactory = std::unique_ptr<Policy> (*)();

// What more holds under these options.
using PolicyFacts = PolicyInfo (*)(PolicyInfo info, const Options& options);

struct PolicyEntry {
    PolicyInfo info;
    PolicyFactory make;
    PolicyFacts facts = nullptr;  // nullptr: info, whatever the options
};

// Registered policies by name, ascending.
const std::vector<PolicyEntry>& policies();
const PolicyEntry* find_policy(const std::string& name);
// Of the policy that `options` name, which must be known.
PolicyInfo facts_of(const Options& options);

// At namespace scope of a policy's file: const PolicyRegistrar registrar({...}, make<MyPolicy>);
struct PolicyRegistrar {
    PolicyRegistrar(PolicyInfo info, PolicyFactory make, PolicyFacts facts = nullptr);
};
template <class P>
std::unique_ptr<Policy> make() {
    return std::make_unique<P>();
}

}  // namespace deadbeat::sched
