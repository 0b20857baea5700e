#include "deadbeat/sched/locks_sim.hpp"

#include <algorithm>
#include <utility>

#include "locks_machine.hpp"

namespace deadbeat::sched::locks {

std::vector<std::string> policies() { return {kPolicies.begin(), kPolicies.end()}; }

std::vector<std::string> protocols() {
    std::vector<std::string> names;
    for (const Protocol& each : kProtocols) {
        names.emplace_back(each.name);
    }
    return names;
}

namespace {

std::string refusal_of(const System& system, std::size_t i, std::int64_t clusters) {
    const Task& task = system.tasks[i];
    const std::string name = "task " + std::to_string(i);
    if (clusters > 1 && (task.home < 0 || task.home >= clusters)) {
        return name + ": home is missing, or not there";
    }
    Time sections = 0;
    for (const Section& section : system.sections) {
        sections += at(section.task) == i ? section.count * section.length : 0;
    }
    const Extra extra = system.extra(i);
    if (sections > 0 && extra.np_last > 1 && sections + extra.np_last > task.wcet) {
        return name + ": its sections leave no room for np_last";
    }
    return "";
}

}  // namespace

std::string refusal(const System& system, const Scheduling& how) {
    const Protocol* found = find(how.protocol);
    if (found == nullptr) {
        return "unknown protocol " + how.protocol;
    }
    if (std::ranges::find(kPolicies, how.policy) == kPolicies.end()) {
        return "policy " + how.policy + " is not simulated with " +
               (system.sections.empty() ? "jitter, suspension or np_max" : "locks");
    }
    const bool locks = !system.sections.empty(), edf = is_edf(how.policy);
    if (locks && found->rule == Rule::ceiling && system.processors != 1) {
        return how.protocol + " is simulated on one processor";
    }
    if (locks && edf && how.protocol != "srp") {
        return how.protocol + " is not simulated under EDF, srp is";
    }
    if (locks && edf && (beyond(system) & kSuspension) != 0) {
        return "suspension with locks is not simulated under EDF";
    }
    const std::int64_t clusters = clusters_of(system, how.policy);
    if (clusters > system.processors || system.processors % clusters != 0) {
        return "homes are not clusters of one size";
    }
    const bool anywhere =
        found->rule == Rule::plain || found->rule == Rule::inherit || found->rule == Rule::omlp;
    if (locks && clusters < system.processors && !anywhere) {
        return how.protocol + " is simulated on bound tasks (p-fp)";
    }
    for (std::size_t i = 0; i < system.tasks.size(); i++) {
        if (std::string why = refusal_of(system, i, clusters); !why.empty()) {
            return why;
        }
    }
    return "";
}

std::vector<Time> responses(const System& system, const Scheduling& how, const Pattern& pattern,
                            bool together) {
    std::vector<Time> found;
    Machine(system, how, together).run(pattern, found);
    return found;
}

namespace {

bool stretched(const System& system) { return (beyond(system) & kNonPreemptive) != 0; }

}  // namespace

std::vector<Time> worst(const System& system, const Scheduling& how, const Drawing& drawing,
                        std::uint64_t first, std::uint64_t count) {
    std::vector<Time> worst(system.tasks.size()), found;
    Machine machine(system, how, stretched(system));
    Pattern pattern;
    for (std::uint64_t number = first; number < first + count; number++) {
        draw(system, drawing, number, pattern);
        machine.run(pattern, found);
        for (std::size_t job = 0; job < found.size(); job++) {
            Time& most = worst[at(pattern.jobs[job].task)];
            most = std::max(most, found[job]);
        }
    }
    return worst;
}

namespace {

constexpr std::size_t kJobsKept = 1'000'000;

// Adds the jobs of a pattern, and how near to its deadline (or how far beyond) the worst one was.
double judge(const System& system, const Pattern& pattern, const std::vector<Time>& responses,
             const std::vector<Time>& starts, Found& found) {
    double nearest = 0;
    std::vector<std::int64_t> numbers(system.tasks.size());
    for (std::size_t k = 0; k < responses.size(); k++) {
        const Job& job = pattern.jobs[k];
        const Time response = responses[k], deadline = system.tasks[at(job.task)].deadline;
        TaskMetrics& own = found.verdict.result.tasks[at(job.task)];
        if (found.all.size() < kJobsKept) {
            found.all.push_back({job.task, numbers[at(job.task)], job.arrival, starts[k],
                                 job.arrival + response, job.arrival + deadline});
        }
        numbers[at(job.task)]++;
        own.released++;
        own.completed++;
        own.judged++;
        own.missed += response > deadline;
        own.response_min = std::min(own.response_min, response);
        own.response_max = std::max(own.response_max, response);
        own.tardiness_max = std::max(own.tardiness_max, response - deadline);
        own.slack_min = std::min(own.slack_min, deadline - response);
        own.response_sum += response;
        own.tardiness_sum += std::max<Time>(0, response - deadline);
        own.slack_sum += deadline - response;
        nearest = std::max(nearest, static_cast<double>(response) / static_cast<double>(deadline));
    }
    return nearest;
}

// Once more, with everything.
void show(const System& system, const Pattern& pattern, Machine& machine, Found& found) {
    Result& result = found.verdict.result;
    std::vector<Time> responses;
    std::vector<std::int64_t> numbers(system.tasks.size());
    Log log;
    log.tasks.resize(system.tasks.size());
    log.whole = true;
    for (const Job& job : pattern.jobs) {
        log.jobs.push_back({job.task, numbers[at(job.task)]++, job.arrival, kNever, kNever,
                            job.arrival + system.tasks[at(job.task)].deadline});
    }
    machine.run(pattern, responses, &log);
    found.verdict.releases.resize(system.tasks.size());
    for (std::size_t k = 0; k < responses.size(); k++) {
        JobRecord& job = log.jobs[k];
        job.finish = job.release + responses[k];
        result.until = std::max(result.until, job.finish);
        found.verdict.releases[at(job.task)].push_back(job.release);
        if (job.finish > job.deadline && job.deadline < result.first_miss) {
            result.first_miss = job.deadline;
            result.first_miss_task = static_cast<std::int32_t>(job.task);
            result.first_miss_job = job.job;
        }
    }
    result.jobs = std::move(log.jobs);
    result.segments = std::move(log.segments);
    found.holds = std::move(log.holds);
}

}  // namespace

Found decide(const System& system, const Scheduling& how, const Drawing& longer,
             const Drawing& dense, std::uint64_t patterns, std::int64_t budget) {
    Found found;
    Verdict& verdict = found.verdict;
    Machine machine(system, how, stretched(system));
    Pattern pattern;
    std::vector<Time> responses;
    Log log;
    log.tasks.resize(system.tasks.size());
    verdict.result.tasks.resize(system.tasks.size());
    double most = -1;
    std::uint64_t shown = 0, number = 0;
    const auto drawing = [&](std::uint64_t n) { return n % 2 == 0 ? longer : dense; };
    for (; number < patterns && (number == 0 || log.events < budget); number++) {
        draw(system, drawing(number), number, pattern);
        machine.run(pattern, responses, &log);
        const double nearest = judge(system, pattern, responses, log.starts, found);
        if (most <= 1 && nearest > most) {
            most = nearest;
            shown = number;
        }
    }
    draw(system, drawing(shown), shown, pattern);
    show(system, pattern, machine, found);
    Result& result = verdict.result;
    result.events = log.events;
    for (std::size_t i = 0; i < system.tasks.size(); i++) {
        TaskMetrics &own = result.tasks[i], &moved = log.tasks[i];
        own.preemptions = moved.preemptions;
        own.migrations = moved.migrations;
        own.cross_cluster = moved.cross_cluster;
        own.task_migrations = moved.task_migrations;
    }
    const std::string of = " of " + std::to_string(number);
    const std::string which = "random pattern " + std::to_string(shown) + of + " (seed " +
                              std::to_string(longer.seed) + ")";
    verdict.because = "no job is late in" + of.substr(3) +
                      " random patterns: simulation proves no more than what it refutes";
    if (result.first_miss != kNever) {
        verdict.answer = Answer::no;
        verdict.proved = true;
        verdict.proof = "miss";
        verdict.because = "a job of task " + std::to_string(result.first_miss_task) +
                          " misses its deadline at " + std::to_string(result.first_miss) + " in " +
                          which;
        verdict.pattern = which;
    } else {
        result.remarks.push_back("pictures show " + which + ", the nearest to a miss");
    }
    for (const Task& task : system.tasks) {
        if (clusters_of(system, how.policy) > 1) {
            result.placed.push_back(static_cast<std::int32_t>(task.home));
        }
    }
    return found;
}

}  // namespace deadbeat::sched::locks
