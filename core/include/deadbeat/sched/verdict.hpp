// What a simulation proves: the models, and how long each needs.
#pragma once

#include <string>

#include "deadbeat/sched/engine.hpp"

namespace deadbeat::sched {

enum class Model : int {
    periodic_sync = 0,    // releases at 0, T, 2T, ...
    periodic_offset = 1,  // releases at O, O + T, ...
};

enum class Answer : int { no = 0, yes = 1, undecided = 2 };

struct Verdict {
    Answer answer = Answer::undecided;
    bool proved = false;  // the answer holds for the model, not only for what was simulated
    std::string because;  // one line: the argument, or what is missing to one
    Result result;
};

// One hyper-period where that is exact, else until the state repeats, else `undecided`.
//
// Sources: Cucu and Goossens, DATE 2007 (synchronous schedules of constrained-deadline systems
// repeat from 0); Goossens and Meumeu Yomsi, arXiv 1012.5929 (offsets: until the state repeats).
Verdict decide(const System& system, const Options& options, Model model);

// Cucu and Goossens as the thesis used them: simulate two hyper-periods, compare the states at the
// end of each. Synchronous systems only.
Verdict decide_by_thesis(const System& system, const Options& options);

}  // namespace deadbeat::sched
