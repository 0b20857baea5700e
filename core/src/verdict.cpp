#include "deadbeat/sched/verdict.hpp"

#include <algorithm>

namespace deadbeat::sched {

namespace {

constexpr const char* kRepetition =
    "Cucu and Goossens, DATE 2007; Goossens and Meumeu Yomsi, arXiv 1012.5929, 2010";

std::string text(Time value) { return std::to_string(value); }

// The same question with every time divided by what divides all of them: counters of quanta stay
// small. Policies do not depend on the unit (policy.hpp). Random delays do: they are left alone.
class Scaled {
  public:
    Scaled(const System& system, const Options& options) : system_(system), options_(options) {
        if (options.arrival != Arrival::periodic ||
            find_policy(options.policy)->info.unit_matters) {
            return;
        }
        unit_ = common_divisor(system);
        Costs& costs = options_.costs;
        for (const Time value : {costs.context_switch, costs.migration, costs.cache_reload,
                                 costs.migration_across, options.horizon}) {
            unit_ = std::gcd(unit_, value);
        }
        if (unit_ == 1) {
            return;
        }
        tasks_.assign(system.tasks.begin(), system.tasks.end());
        for (Task& task : tasks_) {
            for (Time* value : {&task.wcet, &task.period, &task.deadline, &task.offset,
                                &task.budget, &task.server_period, &task.server_deadline}) {
                *value /= unit_;
            }
        }
        system_.tasks = tasks_;
        for (Time* value : {&costs.context_switch, &costs.migration, &costs.cache_reload,
                            &costs.migration_across, &options_.horizon}) {
            *value /= unit_;
        }
        // Records end at multiples of the unit.
        options_.record_from = options_.record_from / unit_ + (options_.record_from % unit_ > 0);
    }
    Scaled(const Scaled&) = delete;
    Scaled& operator=(const Scaled&) = delete;

    // `extent` and the result are in the unit of the caller.
    Result simulate(Extent extent) const {
        extent.horizon = std::min(extent.horizon, kTimeMax) / unit_;
        extent.check_every /= unit_;
        Result result = sched::simulate(system_, options_, extent);
        if (unit_ > 1) {
            scale(result);
        }
        return result;
    }

  private:
    void scale(Time& value) const {
        if (value != kNever && value != -1) {
            value *= unit_;  // at most kTimeMax and a parameter, see simulate()
        }
    }

    void scale(Result& result) const {
        scale(result.first_miss);
        scale(result.until);
        scale(result.repeat_from);
        scale(result.repeat_to);
        for (TaskMetrics& metrics : result.tasks) {
            if (metrics.completed > 0) {
                metrics.response_min *= unit_;
                metrics.slack_min *= unit_;
            }
            metrics.response_max *= unit_;
            metrics.tardiness_max *= unit_;
            metrics.response_sum *= unit_;
            metrics.tardiness_sum *= unit_;
            metrics.slack_sum *= unit_;
        }
        for (JobRecord& job : result.jobs) {
            for (Time* value : {&job.release, &job.start, &job.finish, &job.deadline}) {
                scale(*value);
            }
        }
        for (Segment& segment : result.segments) {
            segment.from *= unit_;
            segment.to *= unit_;
        }
    }

    System system_;
    Options options_;
    std::vector<Task> tasks_;
    Time unit_ = 1;
};

// What a simulation without a miss would prove.
struct Claim {
    bool exact = false;
    std::string proof;
    std::string reference;
    std::string argument;  // why it is exact, or what is missing
};

std::string found_nothing(const Options& options, const Result& found) {
    std::string line = "no miss before " + text(found.until);
    if (found.outcome == Outcome::budget) {
        line += ", where the budget of " + text(options.budget) + " scheduling points was used up";
    }
    return line;
}

void deny(Verdict& verdict, const Options& options, std::string proof, std::string because) {
    verdict.answer = Answer::no;
    verdict.proved = !options.costs.any();
    verdict.proof = verdict.proved ? std::move(proof) : "";
    verdict.because = std::move(because);
}

void conclude_refusal(Verdict& verdict, const Options& options) {
    const auto& placed = verdict.result.placed;
    if (std::ranges::find(placed, -1) != placed.end()) {
        deny(verdict, options, "placement", verdict.result.reason);
    } else {
        // The policy is not defined for such a system: that says nothing about deadlines.
        verdict.because = verdict.result.reason;
    }
}

Verdict conclude(const System& system, const Options& options, Result result, Claim claim) {
    Verdict verdict;
    verdict.result = std::move(result);
    const Result& found = verdict.result;
    const bool predictable = facts_of(options).predictable;
    verdict.execution = predictable ? Execution::up_to_wcet : Execution::exactly_wcet;
    if (found.outcome == Outcome::refused) {
        conclude_refusal(verdict, options);
        return verdict;
    }
    if (found.outcome == Outcome::miss) {
        deny(verdict, options, "miss",
             "a job of task " + std::to_string(found.first_miss_task) + " misses its deadline at " +
                 text(found.first_miss) + (found.placed.empty() ? "" : " under this placement"));
        return verdict;
    }
    if (found.outcome == Outcome::no_miss && claim.exact && !options.costs.any()) {
        verdict.answer = Answer::yes;
        verdict.proved = true;
        verdict.proof = std::move(claim.proof);
        verdict.reference = std::move(claim.reference);
        verdict.because = std::move(claim.argument);
        if (!predictable) {
            verdict.because +=
                "; for execution times of exactly C: under this policy jobs may "
                "finish later when others need less";
        }
        return verdict;
    }
    if (const std::string certain = overload(system); !certain.empty()) {
        deny(verdict, options, "overload", certain + "; " + found_nothing(options, found));
        return verdict;
    }
    verdict.because = found_nothing(options, found);
    if (options.costs.any()) {
        verdict.because += "; with costs nothing is proved, jobs that need less may cause more";
    } else if (!claim.exact) {
        verdict.because += "; " + claim.argument;
    }
    return verdict;
}

// Why one hyper-period is exact here. Let all offsets be 0, D <= T, and no deadline in (0, H] be
// missed. A job released before H has its next release, so its deadline, at H or earlier: all are
// complete at H. The state at H is then the one at 0: nothing pending, every task about to release.
// Releases from H on are those from 0 on, shifted; a memoryless policy decides by the ready jobs
// alone, with ties in a static order; so by induction over instants the schedule of [kH, (k+1)H)
// is that of [0, H), and no deadline is missed ever. A miss before H refutes. (Cucu and Goossens,
// DATE 2007, for more general platforms.) The engine's last processors differ at H, but processors
// are identical and no memoryless policy looks at them; costs would, and never get here.
bool one_hyperperiod_is_exact(const System& system, const Options& options) {
    return synchronous(system) && constrained(system) && facts_of(options).memoryless;
}

Verdict decide_one_hyperperiod(const System& system, const Options& options, Time h) {
    const Time limit = options.horizon > 0 ? options.horizon : kNever;
    // Past a miss one hyper-period stands for nothing: figures are wanted as far as was asked.
    const bool asked = !options.stop_at_miss && options.horizon > 0;
    Result result =
        Scaled(system, options).simulate({.horizon = asked ? limit : std::min(limit, h)});
    Claim claim{.exact = limit >= h,
                .proof = "one-hyper-period",
                .reference = "Cucu and Goossens, DATE 2007",
                .argument =
                    "one hyper-period is exact: D <= T and no miss leave no job at its "
                    "end, the releases repeat, and the policy has no memory"};
    if (!claim.exact) {
        claim.argument = "the horizon ends before the hyper-period of " + text(h);
    }
    return conclude(system, options, std::move(result), std::move(claim));
}

// Two instants a multiple of H apart with equal states have equal futures: the releases from them
// on are the same (the state holds the time to each next release, also of tasks whose first release
// is still ahead), and engine and policy are deterministic. So what lies between them repeats for
// ever, and what was before them was simulated. As no job is missed, pending work is bounded (each
// task has less than D/T + 1 jobs), the states are finitely many, and the search ends.
Verdict decide_by_repetition(const System& system, const Options& options, Time h) {
    const Time limit = options.horizon > 0 ? options.horizon : kNever;
    Result result = Scaled(system, options).simulate({.horizon = limit, .check_every = h});
    Claim claim{.exact = result.repeat_to >= 0,
                .proof = "repetition",
                .reference = kRepetition,
                .argument = "the state at " + text(result.repeat_to) + " is that at " +
                            text(result.repeat_from) + ": the schedule repeats without a miss"};
    if (!claim.exact) {
        claim.argument =
            "no state at a multiple of the hyper-period of " + text(h) + " had come back by then";
    } else if (options.skip_overruns && !constrained(system)) {
        claim.exact = false;
        claim.argument = "skipped jobs are not judged where a deadline is after the next release";
    }
    return conclude(system, options, std::move(result), std::move(claim));
}

Verdict decide_without_end(const System& system, const Options& options, std::string why) {
    const Time limit = options.horizon > 0 ? options.horizon : kNever;
    Claim claim;
    claim.argument = std::move(why);
    return conclude(system, options, Scaled(system, options).simulate({.horizon = limit}),
                    std::move(claim));
}

}  // namespace

std::string overload(const System& system) {
    for (std::size_t i = 0; i < system.tasks.size(); i++) {
        const Task& task = system.tasks[i];
        if (task.wcet > task.deadline) {
            return "task " + std::to_string(i) + " needs " + text(task.wcet) + " within " +
                   text(task.deadline) + ", which no policy can give it";
        }
    }
    // In every hyper-period H work of U H arrives and at most m H is done: the backlog grows beyond
    // what can be done before any deadline.
    if (compare_utilisation(system, system.processors) > 0) {
        return "the utilisation is above the number of processors: under every policy a deadline "
               "is missed sometime";
    }
    return "";
}

Verdict decide(const System& system, const Options& options, Model model) {
    if (model == Model::sporadic) {
        return decide_sporadic(system, options);
    }
    if (options.arrival != Arrival::periodic) {
        return decide_without_end(system, options,
                                  "these releases are one of infinitely many patterns");
    }
    const std::optional<Time> h = hyperperiod(system);
    if (!h) {
        return decide_without_end(system, options, "the hyper-period is above 2^62");
    }
    return one_hyperperiod_is_exact(system, options) ? decide_one_hyperperiod(system, options, *h)
                                                     : decide_by_repetition(system, options, *h);
}

Verdict decide_by_thesis(const System& system, const Options& options) {
    if (!synchronous(system)) {
        return decide_without_end(system, options,
                                  "the thesis's procedure is for systems without offsets");
    }
    const std::optional<Time> h = hyperperiod(system);
    if (!h || *h > kTimeMax / 2) {
        return decide_without_end(system, options, "two hyper-periods are above 2^62");
    }
    std::vector<Checkpoint> states;
    const Time limit = options.horizon > 0 ? options.horizon : kNever;
    Result result =
        Scaled(system, options)
            .simulate({.horizon = std::min(limit, 2 * *h), .check_every = *h, .states = &states});
    Claim claim{.proof = "thesis",
                .reference = "thesis, section 6.2.3, after Cucu and Goossens",
                .argument =
                    "two hyper-periods without a miss, equal states at their ends, all "
                    "jobs finished within (the thesis's procedure)"};
    // States at 0, H and 2H. Equal words are equal executing jobs with equal needs, and more.
    if (states.size() < 3) {
        claim.argument = "that is short of two hyper-periods, " + text(2 * *h);
    } else if (states[1].unfinished > 0 || states[2].unfinished > 0) {
        claim.argument =
            "jobs are unfinished at the end of a hyper-period: the thesis's procedure "
            "says nothing";
    } else if (states[1].words != states[2].words) {
        claim.argument =
            "the states at the ends of the two hyper-periods differ: the thesis's "
            "procedure says nothing";
    } else {
        claim.exact = true;
        result.repeat_from = *h;
        result.repeat_to = 2 * *h;
    }
    return conclude(system, options, std::move(result), std::move(claim));
}

}  // namespace deadbeat::sched
