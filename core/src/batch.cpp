#include "deadbeat/sched/batch.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

#include "deadbeat/sched/tests.hpp"
#include "fast/fast.hpp"

namespace deadbeat::sched {

namespace {

BatchRow row_of(const System& system, const Verdict& verdict) {
    BatchRow row{};
    const Result& result = verdict.result;
    row.answer = static_cast<std::int64_t>(verdict.answer);
    row.proved = verdict.proved ? 1 : 0;
    row.first_miss = result.first_miss == kNever ? -1 : result.first_miss;
    row.until = result.until;
    row.placed = result.outcome == Outcome::refused ? 0 : 1;
    row.events = result.events;
    row.slack_min = kNever;
    row.jobs = fast::jobs_before(system, row.until);
    Wide slack = 0;
    Wide response = 0;
    Wide tardiness = 0;
    double share = 0.0;
    for (std::size_t i = 0; i < result.tasks.size(); i++) {
        const TaskMetrics& metrics = result.tasks[i];
        row.judged += metrics.judged;
        row.missed += metrics.missed;
        row.completed += metrics.completed;
        row.preemptions += metrics.preemptions;
        row.migrations += metrics.migrations;
        row.cross_cluster += metrics.cross_cluster;
        row.task_migrations += metrics.task_migrations;
        row.slack_min = std::min(row.slack_min, metrics.slack_min);
        row.response_max = std::max(row.response_max, metrics.response_max);
        row.tardiness_max = std::max(row.tardiness_max, metrics.tardiness_max);
        slack += metrics.slack_sum;
        response += metrics.response_sum;
        tardiness += metrics.tardiness_sum;
        share +=
            static_cast<double>(metrics.slack_sum) / static_cast<double>(system.tasks[i].period);
    }
    if (row.completed > 0) {
        row.slack_mean = static_cast<double>(slack) / static_cast<double>(row.completed);
        row.slack_share_mean = share / static_cast<double>(row.completed);
        row.response_mean = static_cast<double>(response) / static_cast<double>(row.completed);
        row.tardiness_mean = static_cast<double>(tardiness) / static_cast<double>(row.completed);
    }
    return row;
}

// Calls work(i) for every i below `count` on `threads` threads, in no order.
template <class Work>
void for_each(std::size_t count, int threads, Work work) {
    std::atomic<std::size_t> next{0};
    const auto loop = [&] {
        for (std::size_t i = next++; i < count; i = next++) {
            work(i);
        }
    };
    std::vector<std::jthread> others;
    for (int t = 1; t < threads; t++) {
        others.emplace_back(loop);
    }
    loop();
}

}  // namespace

std::vector<BatchRow> decide_batch(const Batch& batch, const Options& options, Model model,
                                   int threads, const std::string& lanes) {
    std::vector<BatchRow> rows(batch.size());
    std::vector<std::uint8_t> done(batch.size(), 0);
    fast::decide_in_lanes(batch, options, model, threads, lanes, rows, done);
    for_each(batch.size(), threads, [&](std::size_t i) {
        if (done[i] != 0) {
            return;
        }
        const System system = batch.system(i);
        rows[i] = row_of(system, decide(system, options, model));
    });
    return rows;
}

std::vector<std::string> lane_kinds() { return fast::lane_names(); }

std::vector<std::int8_t> test_batch(const Batch& batch, const std::vector<std::string>& names,
                                    const TestOptions& options, int threads) {
    std::vector<const TestEntry*> tests;
    for (const std::string& name : names) {
        tests.push_back(find_test(name));
    }
    std::vector<std::int8_t> answers(batch.size() * tests.size());
    for_each(batch.size(), threads, [&](std::size_t i) {
        const System system = batch.system(i);
        for (std::size_t t = 0; t < tests.size(); t++) {
            answers[i * tests.size() + t] =
                static_cast<std::int8_t>(tests[t]->run(system, options, {}).answer);
        }
    });
    return answers;
}

}  // namespace deadbeat::sched
