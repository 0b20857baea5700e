// The engine's corners, and relations between policies on random systems.
#include <doctest/doctest.h>

#include <algorithm>

#include "deadbeat/sched/random.hpp"
#include "deadbeat/sched/verdict.hpp"
#include "schedules.hpp"

using namespace deadbeat::sched;

namespace {

Time below(Random& random, Time bound) {
    return static_cast<Time>(random.below(static_cast<std::uint64_t>(bound)));
}

// Periods that divide 24; D = T.
Tasks random_tasks(Random& random, int most) {
    constexpr Time periods[] = {2, 3, 4, 6, 8, 12, 24};
    Tasks tasks(static_cast<std::size_t>(1 + below(random, most)));
    for (Task& task : tasks) {
        const Time period = periods[below(random, 7)];
        task = Make{1 + below(random, period), period};
        if (below(random, 3) > 0) {
            task.wcet = std::max<Time>(1, task.wcet / 2);
        }
    }
    return tasks;
}

std::int32_t random_processors(Random& random) {
    return static_cast<std::int32_t>(1 + below(random, 4));
}

// Completions of [0, horizon): task, job, finish; past misses.
std::vector<JobRecord> completions(std::int32_t m, const Tasks& tasks, Options options,
                                   Time horizon) {
    options.stop_at_miss = false;
    std::vector<JobRecord> jobs = run(m, tasks, options, horizon).jobs;
    std::ranges::sort(jobs, {}, [](const JobRecord& j) { return std::pair(j.task, j.job); });
    return jobs;
}

constexpr int kSystems = 300;

}  // namespace

TEST_CASE("a job that completes at its deadline is on time") {
    CHECK(first_miss(1, {Make{2, 2}}, with("g-edf"), 20) == kNoMiss);
    CHECK(first_miss(1, {Make{1, 2}, Make{1, 2}}, with("g-fp"), 20) == kNoMiss);
    CHECK(first_miss(1, {Make{3, 4, 2}}, with("g-edf"), 20) == 2);
}

TEST_CASE("jobs wait behind each other where D > T") {
    // 3 every 2, due after 4: [0,3) in time for 4, [3,6) for 6, [6,9) not for 8.
    const Tasks tasks = {Make{3, 2, 4}};
    const Result result = run(1, tasks, with("g-edf"), 40);
    CHECK(result.first_miss == 8);
    CHECK(result.first_miss_job == 2);
    Options options = with("g-edf");
    options.stop_at_miss = false;
    const Result on = run(1, tasks, options, 12);
    CHECK(on.tasks[0].completed == 4);  // at 3, 6, 9, 12
    CHECK(on.tasks[0].tardiness_max == 2);
    CHECK(on.first_miss == 8);
}

TEST_CASE("among misses at one instant the lowest task is named") {
    const Result result = run(1, Tasks(3, Make{2, 2}), with("g-edf"), 9);
    CHECK(result.first_miss == 2);
    CHECK(result.first_miss_task == 1);
    CHECK(result.until == 2);
}

TEST_CASE("preempted, moved, back: what is counted") {
    // C runs on 0 from 2, is preempted at 3 by B's second job, and resumes on 1 at 4.
    const Tasks tasks = {Make{4, 9, 4}, Make{2, 3}, Make{2, 9}};
    CHECK(drawn(2, tasks, with("g-edf"), 5) == "BBCBB\nAAAAC\n");
    const Result result = run(2, tasks, with("g-edf"), 5);
    CHECK(result.tasks[2].preemptions == 1);
    CHECK(result.tasks[2].migrations == 1);
    CHECK(result.tasks[2].cross_cluster == 0);
    // C, running on 0, stays; B's second job starts on 1, not where its first one ran.
    const Tasks shorter = {Make{3, 9, 4}, Make{2, 3}, Make{2, 9}};
    CHECK(drawn(2, shorter, with("g-edf"), 5) == "BBCC.\nAAABB\n");
    const Result moved = run(2, shorter, with("g-edf"), 5);
    CHECK(moved.tasks[1].task_migrations == 1);
    CHECK(moved.tasks[1].migrations == 0);
    CHECK(moved.tasks[2].preemptions == 0);
}

TEST_CASE("PD2 is optimal: no miss at any utilisation up to m") {
    Random random(1);
    int full = 0;
    for (int i = 0; i < kSystems; i++) {
        const std::int32_t m = random_processors(random);
        Tasks tasks = random_tasks(random, 10);
        while (compare_utilisation({m, tasks}, m) > 0) {
            tasks.pop_back();
        }
        // Fill up to m with a task of period 24, if a whole number of units is left (it is).
        Time used = 0;
        for (const Task& task : tasks) {
            used += task.wcet * (24 / task.period);
        }
        const Time left = std::min<Time>(24, 24 * m - used);
        if (left > 0) {
            tasks.push_back(Make{left, 24});
        }
        full += used + left == 24 * m ? 1 : 0;
        CHECK(first_miss(m, tasks, with("pd2"), 25) == kNoMiss);
    }
    CHECK(full > kSystems / 4);
}

TEST_CASE("EDZL schedules what global EDF schedules (Park et al. 2005)") {
    Random random(2);
    int only = 0;
    for (int i = 0; i < kSystems; i++) {
        const std::int32_t m = random_processors(random);
        const Tasks tasks = random_tasks(random, 3 * m);
        const bool edf = first_miss(m, tasks, with("g-edf"), 25) == kNoMiss;
        const bool edzl = first_miss(m, tasks, with("edzl"), 25) == kNoMiss;
        CHECK((!edf || edzl));
        only += edzl && !edf ? 1 : 0;
    }
    CHECK(only > 0);
}

TEST_CASE("guests harm nobody: every job completes as under clustered EDF or before") {
    Random random(3);
    int earlier = 0;
    for (int i = 0; i < kSystems; i++) {
        const Tasks tasks = random_tasks(random, 12);
        for (const auto& [alone, pulled] : {std::pair{"none", "pull"}, {"offline", "both"}}) {
            Options options = with("lc-edf");
            options.balance = alone;
            const auto home = completions(4, tasks, options, 24);
            options.balance = pulled;
            const auto loose = completions(4, tasks, options, 24);
            REQUIRE(home.size() == loose.size());
            for (std::size_t j = 0; j < home.size(); j++) {
                CHECK(loose[j].finish <= home[j].finish);
                earlier += loose[j].finish < home[j].finish ? 1 : 0;
            }
        }
    }
    CHECK(earlier > 0);
}

TEST_CASE("policies that coincide where they should") {
    Random random(4);
    for (int i = 0; i < kSystems; i++) {
        const std::int32_t m = random_processors(random);
        const Tasks tasks = random_tasks(random, 3 * m);
        Options clustered = with("c-edf");
        clustered.unplaced = "least-loaded";
        Options partitioned = clustered;
        partitioned.policy = "p-edf";
        clustered.cluster_size = m;
        CHECK(drawn(m, tasks, clustered, 24) == drawn(m, tasks, with("g-edf"), 24));
        clustered.cluster_size = 1;
        CHECK(drawn(m, tasks, clustered, 24) == drawn(m, tasks, partitioned, 24));
        // A server of exactly the task's C, T and D = T is EDF as long as nobody is late.
        const Time miss = first_miss(m, tasks, with("g-edf"), 24);
        const Time until = std::min<Time>(miss, 24);
        CHECK(first_miss(m, tasks, with("g-cbs"), 24) == miss);
        CHECK(drawn(m, tasks, with("g-cbs"), until) == drawn(m, tasks, with("g-edf"), until));
        // FIFO with a level each is fixed priority.
        Tasks levels = tasks;
        for (std::size_t k = 0; k < levels.size(); k++) {
            levels[k].priority = static_cast<std::int64_t>(k);
        }
        Options fixed = with("p-fp");
        fixed.unplaced = "least-loaded";
        fixed.priorities = "given";
        fixed.admission = "utilisation";
        Options fifo = fixed;
        fifo.policy = "p-fifo";
        CHECK(drawn(m, levels, fifo, 48) == drawn(m, levels, fixed, 48));
    }
}

TEST_CASE("every policy decides every small system, and twice alike") {
    Random random(5);
    for (int i = 0; i < 30; i++) {
        const Tasks tasks = random_tasks(random, 8);
        for (const PolicyEntry& entry : policies()) {
            CAPTURE(entry.info.name);
            Options options = with(entry.info.name);
            options.unplaced = "least-loaded";
            options.budget = 100'000;
            const Verdict verdict = decide({4, tasks}, options, Model::periodic_sync);
            CHECK((verdict.answer != Answer::undecided || compare_utilisation({4, tasks}, 4) > 0));
            const Verdict again = decide({4, tasks}, options, Model::periodic_sync);
            CHECK(verdict.result.first_miss == again.result.first_miss);
            CHECK(verdict.result.until == again.result.until);
        }
    }
}

TEST_CASE("a declared memoryless policy repeats after one hyper-period") {
    Random random(6);
    for (int i = 0; i < 60; i++) {
        const Tasks tasks = random_tasks(random, 8);
        for (const PolicyEntry& entry : policies()) {
            Options options = with(entry.info.name);
            options.unplaced = "least-loaded";
            if (!entry.info.memoryless || first_miss(2, tasks, options, 25) != kNoMiss) {
                continue;
            }
            CAPTURE(entry.info.name);
            // Processors may be exchanged: what runs when counts, not where.
            const auto twice = completions(2, tasks, options, 48);
            for (const JobRecord& job : twice) {
                const auto next = std::ranges::find_if(twice, [&](const JobRecord& other) {
                    return other.task == job.task && other.release == job.release + 24;
                });
                if (next != twice.end()) {
                    CHECK(next->finish == job.finish + 24);
                }
            }
        }
    }
}
