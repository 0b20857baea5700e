// The sporadic model: tests accept, patterns refute, states decide what is small.
#include <algorithm>

#include "deadbeat/sched/policy.hpp"
#include "deadbeat/sched/random.hpp"
#include "deadbeat/sched/tests.hpp"
#include "deadbeat/sched/ties.hpp"
#include "deadbeat/sched/verdict.hpp"
#include "fixed_priority.hpp"
#include "sporadic_states.hpp"
#include "uniprocessor.hpp"

namespace deadbeat::sched {

namespace {

constexpr std::int64_t kPatternEvents = 50'000;     // of each random pattern
constexpr std::int64_t kPictureEvents = 1'000'000;  // simulated for figures, when it is decided

// Tasks that share processors with no others: all of them under a global policy, those of a cluster
// under a clustered one. The system is schedulable if and only if every part is.
struct Part {
    std::vector<std::int32_t> members;
    SporadicGlobal global;
    System system() const { return {global.processors, global.tasks}; }
};

// Why something is schedulable.
struct Proof {
    std::string name;  // "": there is none
    std::string reference;
    std::string argument;
};

bool is_edf(const std::string& policy) {
    return policy == "g-edf" || policy == "p-edf" || policy == "c-edf";
}
bool is_fixed_priority(const std::string& policy) {
    return policy == "g-fp" || policy == "p-fp" || policy == "c-fp";
}

std::vector<Part> parts_of(const Context& context, const JobOrder& order) {
    std::vector<Part> parts;
    for (const std::vector<std::int32_t>& members : order.members) {
        Part part{.members = members, .global = {}};
        part.global.processors = order.processors;
        for (const std::int32_t member : members) {
            const auto task = static_cast<std::size_t>(member);
            part.global.tasks.push_back(context.system.tasks[task]);
            part.global.levels.push_back(order.level[task]);
            part.global.rank.push_back(context.rank[task]);
        }
        if (!members.empty()) {
            parts.push_back(std::move(part));
        }
    }
    return parts;
}

bool covers_deadlines(const TestInfo& info, const System& system) {
    return info.deadlines == "arbitrary" ||
           (info.deadlines == "constrained" ? constrained(system) : implicit(system));
}

// A test of sporadic tasks under `policy` that accepts `system`: for releases at any instants, or
// for those at whole ones only.
Proof accepting_test(const System& system, const std::string& policy, const Options& options,
                     bool whole_instants) {
    TestOptions how;
    how.priorities = options.priorities;
    how.ties = options.ties;
    for (const TestEntry& test : schedulability_tests()) {
        const TestInfo& info = test.info;
        if (info.scheduler != policy || info.model != "sporadic" || info.cost >= kAskedOnly ||
            info.whole_instants != whole_instants ||
            (info.ties != "any" && info.ties != "given" && info.ties != options.ties) ||
            (info.kind != TestKind::sufficient && info.kind != TestKind::exact) ||
            !covers_deadlines(info, system)) {
            continue;
        }
        if (test.run(system, how, {}).answer == TestAnswer::accepted) {
            return {info.name, info.reference,
                    "the test " + info.name + " (" + info.title + ") accepts" +
                        (whole_instants ? ", for releases at integer instants" : "")};
        }
    }
    return {};
}

Proof accepting_test(const System& system, const std::string& policy, const Options& options) {
    Proof proof = accepting_test(system, policy, options, false);
    return proof.name.empty() ? accepting_test(system, policy, options, true) : proof;
}

// One preemptive processor: the synchronous periodic pattern is the worst one for EDF (Baruah,
// Rosier and Howell, Real-Time Systems 2, 1990) and for fixed priorities (Liu and Layland, JACM 20,
// 1973; deadlines beyond periods: Lehoczky, RTSS 1990), at real-valued instants as well.
Proof proof_of_processor(const Part& part, const Options& options) {
    if (compare_utilisation(part.system(), 1) > 0) {
        return {};
    }
    std::vector<Task> tasks = part.global.tasks;
    Fits fits = Fits::undecided;
    std::int64_t steps = kFitSteps;
    if (is_edf(options.policy)) {
        fits = edf_fits(tasks, steps);
    } else {
        std::vector<std::size_t> order(tasks.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::sort(order, {}, [&](std::size_t i) {
            return std::pair(part.global.levels[i], part.global.rank[i]);
        });
        std::ranges::transform(order, tasks.begin(),
                               [&](std::size_t i) { return part.global.tasks[i]; });
        fits = fixed_priority_fits(tasks, steps);
    }
    if (fits != Fits::yes) {
        return {};
    }
    return {"one-processor",
            is_edf(options.policy) ? "Baruah, Rosier and Howell, Real-Time Systems 2, 1990"
                                   : "Liu and Layland, JACM 20(1), 1973; Lehoczky, RTSS 1990",
            "on one processor the synchronous periodic releases are the worst, and they meet all "
            "deadlines"};
}

// Of policies whose tasks share all processors.
Proof proof_of_whole(const System& system, const Options& options) {
    if (options.policy == "pd2" && implicit(system) &&
        compare_utilisation(system, system.processors) <= 0) {
        return {"utilisation", "Srinivasan and Anderson, STOC 2002",
                "PD2 is optimal for sporadic tasks with D = T released at quanta, and the "
                "utilisation is at most the number of processors"};
    }
    // The bounds of EDF-US are for its own threshold.
    const bool own = options.threshold_numerator == 0;
    return own ? accepting_test(system, options.policy, options) : Proof{};
}

Proof proof_of_part(const Part& part, const Options& options) {
    const bool edf = is_edf(options.policy);
    if (!edf && !is_fixed_priority(options.policy)) {
        return proof_of_whole(part.system(), options);
    }
    if (part.global.processors == 1) {
        return proof_of_processor(part, options);
    }
    return accepting_test(part.system(), edf ? "g-edf" : "g-fp", options);
}

void add(Proof& all, const Proof& one) {
    if (all.name.empty()) {
        all = one;
    } else if ((", " + all.name + ",").find(", " + one.name + ",") == std::string::npos) {
        all.name += ", " + one.name;
        all.reference += "; " + one.reference;
        all.argument += "; " + one.argument;
    }
}

// --- patterns that miss --------------------------------------------------------------------------

std::string listed(const std::vector<Time>& values) {
    std::string text;
    for (const Time value : values) {
        text += ' ';
        text += std::to_string(value);
    }
    return text;
}

// Pattern number `seed`: even ones are periodic from random offsets, odd ones add random delays.
struct Pattern {
    std::vector<Task> tasks;
    Options options;
    std::string text;

    Pattern(const System& system, const Options& base, std::uint64_t seed)
        : tasks(system.tasks.begin(), system.tasks.end()), options(base) {
        Random random(seed, 0x6f666673);
        std::vector<Time> offsets;
        for (Task& task : tasks) {
            task.offset = static_cast<Time>(random.below(static_cast<std::uint64_t>(task.period)));
            offsets.push_back(task.offset);
        }
        text = "periodic from offsets" + listed(offsets);
        // PD2's quantum divides the offsets too; delays would release jobs between two quanta.
        if (seed % 2 == 1 && base.policy != "pd2") {
            constexpr double kShares[] = {0.1, 0.5, 1.0};
            options.arrival = Arrival::sporadic;
            options.sporadic_delay = kShares[seed / 2 % 3];
            options.seed = seed;
            text = "from offsets" + listed(offsets) + ", random delays";
        }
        text += " (seed " + std::to_string(seed) + ")";
        options.budget = std::min(base.budget, kPatternEvents);
    }
};

void deny(Verdict& verdict, const Options& options, Result result, std::string pattern,
          std::vector<std::vector<Time>> releases) {
    verdict.answer = Answer::no;
    verdict.proved = !options.costs.any();
    verdict.proof = verdict.proved ? "miss" : "";
    verdict.reference = "";
    verdict.because = "a job of task " + std::to_string(result.first_miss_task) +
                      " misses its deadline at " + std::to_string(result.first_miss) +
                      (result.placed.empty() ? "" : " under this placement") +
                      " when releases are " + pattern;
    verdict.pattern = std::move(pattern);
    verdict.releases = std::move(releases);
    verdict.result = std::move(result);
}

// When jobs are released in [0, until), under options without limits of records.
std::vector<std::vector<Time>> releases_of(const System& system, Options options, Time until) {
    options.metrics = options.record_segments = false;
    options.record_jobs = true;
    options.record_max = std::numeric_limits<std::int64_t>::max();
    options.record_from = 0;
    std::vector<std::vector<Time>> releases(system.tasks.size());
    for (const JobRecord& job : simulate(system, options, {.horizon = until}).jobs) {
        releases[static_cast<std::size_t>(job.task)].push_back(job.release);
    }
    for (std::vector<Time>& instants : releases) {
        std::ranges::sort(instants);
    }
    return releases;
}

bool refuted_by_chance(const System& system, const Options& options, std::int32_t patterns,
                       Verdict& verdict) {
    for (std::int32_t k = 0; k < patterns; k++) {
        Pattern pattern(system, options, options.seed + static_cast<std::uint64_t>(k));
        const System released{system.processors, pattern.tasks};
        Result result = simulate(released, pattern.options,
                                 {.horizon = options.horizon > 0 ? options.horizon : kNever});
        if (result.outcome == Outcome::miss) {
            auto releases = releases_of(released, pattern.options, result.until);
            deny(verdict, options, std::move(result), pattern.text, std::move(releases));
            return true;
        }
    }
    return false;
}

// --- exploration
// ----------------------------------------------------------------------------------

std::string releases_text(const std::vector<std::vector<Time>>& releases) {
    std::string text;
    for (std::size_t i = 0; i < releases.size(); i++) {
        if (!releases[i].empty()) {
            text += (text.empty() ? "task " : ", task ") + std::to_string(i) + " at" +
                    listed(releases[i]);
        }
    }
    return text;
}

// The schedule of listed releases: up to the first miss, or past it up to the last deadline.
Result replay(const System& system, const Options& options,
              const std::vector<std::vector<Time>>& releases, Time first_miss) {
    Options listed = options;
    listed.arrival = Arrival::listed;
    listed.releases = releases;
    listed.budget = std::numeric_limits<std::int64_t>::max();  // these releases come to an end
    Time horizon = first_miss;
    if (!options.stop_at_miss) {
        for (std::size_t i = 0; i < releases.size(); i++) {
            if (!releases[i].empty()) {
                horizon = std::max(horizon, releases[i].back() + system.tasks[i].deadline);
            }
        }
        horizon = std::max(horizon, options.horizon);
    }
    return simulate(system, listed, {.horizon = horizon});
}

// False: the simulation of what was found does not miss then, a defect.
bool deny_explored(const System& system, const Part& part, const Options& options,
                   const Exploration& seen, Verdict& verdict) {
    std::vector<std::vector<Time>> releases(system.tasks.size());
    for (std::size_t i = 0; i < part.members.size(); i++) {
        releases[static_cast<std::size_t>(part.members[i])] = seen.releases[i];
    }
    Result result = replay(system, options, releases, seen.first_miss);
    if (result.outcome != Outcome::miss || result.first_miss != seen.first_miss) {
        return false;
    }
    std::string pattern = releases_text(releases);
    deny(verdict, options, std::move(result), std::move(pattern), std::move(releases));
    verdict.proof = "exploration";
    verdict.reference = "Baker and Cirinei, OPODIS 2007";
    return true;
}

void accept(Verdict& verdict, Proof proof) {
    verdict.answer = Answer::yes;
    verdict.proved = true;
    verdict.execution = Execution::up_to_wcet;  // C bounds execution wherever tests speak of it
    verdict.proof = std::move(proof.name);
    verdict.reference = std::move(proof.reference);
    verdict.because = std::move(proof.argument);
}

// Decides by exploring the parts that no test accepted, or returns what is missing.
std::string explore_parts(const System& system, const std::vector<Part>& open,
                          const Options& options, std::int64_t states, Proof proof,
                          Verdict& verdict) {
    using Found = Exploration::Found;
    for (const Part& part : open) {
        const Exploration seen = explore(part.global, states, verdict.states);
        switch (seen.found) {
            case Found::miss:
                return deny_explored(system, part, options, seen, verdict)
                           ? ""
                           : "exploration and simulation disagree, a defect of deadbeat";
            case Found::budget:
                return "the budget of " + std::to_string(states) + " states was used up";
            case Found::too_large:
                return "deadlines beyond periods or systems this large are not explored";
            case Found::no_miss:
                break;
        }
    }
    add(proof, {"exploration", "Baker and Cirinei, OPODIS 2007",
                "no releases at integer instants miss, all of them were explored (" +
                    std::to_string(verdict.states) + " states)"});
    accept(verdict, std::move(proof));
    return "";
}

// The synchronous periodic pattern: what it shows, its figures, and what refuses or overloads.
Verdict synchronous_pattern(const System& system, const Options& options, bool accepted) {
    Options limited = options;
    if (accepted) {
        limited.budget = std::min(options.budget, kPictureEvents);
    }
    return decide(system, limited, Model::periodic_sync);
}

// `system` without offsets, `options` with periodic arrival.
Verdict decide_all_patterns(const System& system, const Options& options,
                            const SporadicOptions& how) {
    const PolicyEntry& entry = *find_policy(options.policy);
    const Context context{system, &options, tie_rank(system, options.ties)};
    const std::unique_ptr<Policy> policy = entry.make();
    if (!policy->prepare(context).empty()) {
        return synchronous_pattern(system, options, false);
    }
    const std::optional<JobOrder> order = policy->order();
    const std::vector<Part> parts = order ? parts_of(context, *order) : std::vector<Part>();
    Proof proof;
    std::vector<Part> open;
    for (const Part& part : parts) {
        const Proof one = proof_of_part(part, options);
        if (one.name.empty()) {
            open.push_back(part);
        } else {
            add(proof, one);
        }
    }
    if (!order && !entry.info.partitions) {
        proof = proof_of_whole(system, options);
    }
    const bool accepted = !proof.name.empty() && open.empty() && !options.costs.any();
    Verdict verdict = synchronous_pattern(system, options, accepted);
    if (verdict.answer == Answer::no) {
        verdict.pattern = verdict.result.outcome == Outcome::miss ? "synchronous periodic" : "";
        return verdict;
    }
    verdict.proved = false;
    verdict.proof = verdict.reference = "";
    verdict.answer = Answer::undecided;
    verdict.because =
        "no miss with synchronous periodic releases before " + std::to_string(verdict.result.until);
    if (accepted) {
        accept(verdict, std::move(proof));
        return verdict;
    }
    std::string missing = "no exact procedure is known here for " + options.policy;
    if (options.costs.any()) {
        missing = "with costs nothing is proved";
    } else if (order) {
        missing = explore_parts(system, open, options, how.states, std::move(proof), verdict);
    }
    if (verdict.answer == Answer::undecided &&
        !refuted_by_chance(system, options, how.patterns, verdict)) {
        verdict.because +=
            ", nor in " + std::to_string(how.patterns) + " random patterns; " + missing;
    }
    return verdict;
}

}  // namespace

Verdict decide_sporadic(const System& system, const Options& options, const SporadicOptions& how) {
    std::vector<Task> tasks(system.tasks.begin(), system.tasks.end());
    for (Task& task : tasks) {
        task.offset = 0;
    }
    Options periodic = options;
    periodic.arrival = Arrival::periodic;
    Verdict verdict = decide_all_patterns({system.processors, tasks}, periodic, how);
    if (!synchronous(system)) {
        verdict.result.remarks.emplace_back(
            "offsets mean nothing to the sporadic model: releases at least a period apart, from "
            "any instant on");
    }
    return verdict;
}

}  // namespace deadbeat::sched
