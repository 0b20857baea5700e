// Verdicts of many task systems at once: the fast path of studies. Up to 16 are simulated together,
// one per lane of the vector registers: under policies with which jobs keep their priority, without
// offsets and costs, D <= T. Everything else goes to the general engine by itself; rows are the
// same to the last bit (tests/sched/test_sched_batch.py). The horizon of a lane is where its budget
// of releases is used up. Kernels are chosen when the program runs, which changes no result.
#pragma once

#include <span>
#include <vector>

#include "deadbeat/sched/verdict.hpp"

namespace deadbeat::sched {

// Systems one after the other: system i has tasks [starts[i], starts[i + 1]).
struct Batch {
    std::span<const Task> tasks;
    std::span<const std::int64_t> starts;  // systems + 1
    std::span<const std::int32_t> processors;
    std::span<const Section> sections = {};             // tasks counted within their system;
    std::span<const std::int64_t> section_starts = {};  // as starts, or empty: none has any
    std::span<const Extra> extras = {};                 // as tasks, or empty: none has any
    std::size_t size() const { return processors.size(); }
    System system(std::size_t i) const {
        const auto part = [i](auto values, std::span<const std::int64_t> from) {
            return from.empty() || values.empty()
                       ? values.first(0)
                       : values.subspan(at(from[i]), at(from[i + 1]) - at(from[i]));
        };
        return {processors[i], part(tasks, starts), part(sections, section_starts),
                part(extras, starts)};
    }
};

// One row per system. Sums over its tasks; meaning as in TaskMetrics.
struct BatchRow {
    std::int64_t answer;  // Answer
    std::int64_t proved;  // 0 or 1
    Time first_miss;      // -1: none
    Time until;
    std::int64_t placed;  // 0: the partitioning heuristic found no place for a task
    std::int64_t jobs;    // released in [0, until)
    std::int64_t events;  // as in Result
    // 0 unless options.metrics:
    std::int64_t judged, missed, completed;
    std::int64_t preemptions, migrations, cross_cluster, task_migrations;
    // Means over completed jobs, and their extremes: slack = deadline - completion.
    double slack_mean, slack_share_mean;  // the latter: slack / T
    double response_mean, tardiness_mean;
    Time slack_min, response_max, tardiness_max;
};

// Equal, row by row, to decide() followed by summing; whatever of it can be done many systems at a
// time is. `threads` of this process. `lanes`: baseline, avx2, avx512, none (all
// by the general engine), or "" for the widest this machine has; one it lacks is as none.
std::vector<BatchRow> decide_batch(const Batch& batch, const Options& options, Model model,
                                   int threads = 1, const std::string& lanes = "");

// The `lanes` this machine has, widest first, without none.
std::vector<std::string> lane_kinds();

// Answers of every test of `names` for every system, [system][test], as TestAnswer.
std::vector<std::int8_t> test_batch(const Batch& batch, const std::vector<std::string>& names,
                                    const struct TestOptions& options, int threads = 1);

}  // namespace deadbeat::sched
