#include "deadbeat/sched/verdict.hpp"

namespace deadbeat::sched {

namespace {

Verdict conclude(const Options& options, Result result, bool exact, std::string argument) {
    Verdict verdict;
    verdict.result = std::move(result);
    const Result& found = verdict.result;
    switch (found.outcome) {
        case Outcome::refused:
            verdict.answer = Answer::no;
            verdict.proved = !options.costs.any();
            verdict.because = found.reason;
            break;
        case Outcome::miss:
            verdict.answer = Answer::no;
            verdict.proved = !options.costs.any();
            verdict.because = "a job misses its deadline at " + std::to_string(found.first_miss);
            break;
        case Outcome::budget:
            verdict.because = "no miss before " + std::to_string(found.until) +
                              ", where the budget of " + std::to_string(options.budget) +
                              " events was used up";
            break;
        case Outcome::no_miss:
            if (options.costs.any()) {
                verdict.because = "no miss before " + std::to_string(found.until) +
                                  ", but with costs shorter jobs may cause later ones";
            } else if (exact) {
                verdict.answer = Answer::yes;
                verdict.proved = true;
                verdict.because = std::move(argument);
            } else {
                verdict.because =
                    "no miss before " + std::to_string(found.until) + ", which is not long enough";
            }
            break;
    }
    return verdict;
}

}  // namespace

Verdict decide(const System& system, const Options& options, Model model) {
    const PolicyEntry& policy = *find_policy(options.policy);
    const std::optional<Time> h = hyperperiod(system);
    Extent extent;
    const Time limit = options.horizon > 0 ? options.horizon : kNever;
    extent.horizon = limit;
    if (options.arrival == Arrival::sporadic || !h) {
        // One of infinitely many arrival sequences, or a hyper-period out of reach: only a miss
        // tells.
        return conclude(options, simulate(system, options, extent), false, "");
    }
    if (model == Model::periodic_sync && constrained(system) && policy.info.memoryless) {
        extent.horizon = std::min(limit, *h);
        return conclude(
            options, simulate(system, options, extent), extent.horizon == *h,
            "one hyper-period is exact: D <= T and no miss leave no job at its end, the "
            "releases repeat, and the policy has no memory");
    }
    extent.check_every = *h;
    Result result = simulate(system, options, extent);
    const bool repeated = result.repeat_to >= 0;
    const std::string argument = "the state at " + std::to_string(result.repeat_to) +
                                 " is that at " + std::to_string(result.repeat_from) +
                                 ": the schedule repeats without a miss";
    return conclude(options, std::move(result), repeated, argument);
}

Verdict decide_by_thesis(const System& system, const Options& options) {
    const std::optional<Time> h = hyperperiod(system);
    if (!h || *h > kTimeMax / 2) {
        Options short_of = options;
        Verdict verdict = conclude(short_of, simulate(system, options, {}), false, "");
        return verdict;
    }
    Result result = simulate(system, options, {.horizon = 2 * *h, .check_every = *h});
    const bool repeated = result.repeat_to >= 0;
    return conclude(options, std::move(result), repeated,
                    "the states at the ends of the two hyper-periods coincide, no miss (the "
                    "thesis's procedure)");
}

}  // namespace deadbeat::sched
