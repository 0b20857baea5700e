// What a simulation proves: the models, and how long each needs.
#pragma once

#include <cstdint>
#include <string>

#include "deadbeat/sched/engine.hpp"

namespace deadbeat::sched {

enum class Model : int {
    periodic_sync = 0,    // releases at 0, T, 2T, ...
    periodic_offset = 1,  // releases at O, O + T, ...
    sporadic = 2,         // releases at least T apart, from any instant on; see decide_sporadic()
};

enum class Answer : int { no = 0, yes = 1, undecided = 2 };

// For which execution times an answer holds: jobs may need less than C where the policy is
// predictable (no job finishes later when others need less), exactly C where it is not.
enum class Execution : int { up_to_wcet = 0, exactly_wcet = 1 };

struct Verdict {
    Answer answer = Answer::undecided;
    bool proved = false;  // the answer holds for the model, not only for what was simulated
    Execution execution = Execution::up_to_wcet;
    std::string because;    // one line: the argument, or what is missing to one
    std::string proof;      // what proves it: one-hyper-period, repetition, thesis, miss, overload,
                            // placement, one-processor, exploration, or the name of a test
    std::string reference;  // where that proof is from, "" where it needs none
    // Sporadic: the releases that miss ("periodic from offsets 0 3 1"), and how many states of the
    // releases were visited.
    std::string pattern;
    // Of each task, before result.until, where they are neither synchronous nor without a miss.
    std::vector<std::vector<Time>> releases;
    std::int64_t states = 0;
    Result result;
};

// Periodic models: one hyper-period where that is exact, else until the state repeats, else
// `undecided`. What the offsets of `system` are decides, whatever `model` says.
//
// Sources: Cucu and Goossens, DATE 2007 (synchronous schedules of constrained-deadline systems
// repeat from 0); Goossens and Meumeu Yomsi, arXiv 1012.5929 (offsets: until the state repeats).
Verdict decide(const System& system, const Options& options, Model model);

// The thesis's procedure (section 6.2.3): simulate two hyper-periods; schedulable when no deadline
// is missed, the states at the ends of both coincide, and no job of a hyper-period is unfinished at
// its end. Synchronous systems; what it finds neither way is `undecided`.
Verdict decide_by_thesis(const System& system, const Options& options);

struct SporadicOptions {
    std::int64_t states = 500'000;  // explored before it is `undecided`; 0: none
    std::int32_t patterns = 64;     // random release patterns simulated, from options.seed on
};

// Any releases at least T apart, whatever the offsets of `system` are. `no` where a legal pattern
// is found that misses: synchronous periodic, then any at integer instants (small systems), then
// random offsets and delays. `yes` where a sufficient test accepts, each processor alone is
// schedulable (partitioned: exact), or no pattern at integer instants misses (Baker and Cirinei,
// OPODIS 2007; small systems). `result` is that of the pattern that misses, else of the synchronous
// periodic one.
Verdict decide_sporadic(const System& system, const Options& options,
                        const SporadicOptions& how = {});

// Why no policy meets all deadlines of `system`, whatever its releases are ("" where nothing says
// so): sum of C/T above the processors, or C > D.
std::string overload(const System& system);

}  // namespace deadbeat::sched
