// Programs: who runs when, worked by hand, or by the simulator of task systems, or by response-time
// analysis; and random ones, for sanitizers.
#include <doctest/doctest.h>

#include <algorithm>

#include "deadbeat/sched/program.hpp"
#include "deadbeat/sched/random.hpp"
#include "schedules.hpp"

using namespace deadbeat::sched::program;
using deadbeat::sched::Random;
using deadbeat::sched::Time;

namespace {

using Ops = std::vector<Operation>;
constexpr std::int64_t kAll = -1;

Operation compute(Time ns) { return {kCompute, 0, ns}; }
Operation locks(std::int64_t lock) { return {kLock, lock, 0}; }
Operation unlocks(std::int64_t lock) { return {kUnlock, lock, 0}; }
Operation suspends(Time ns) { return {kSuspend, 0, ns}; }
Operation wakes(std::int64_t thread) { return {kWake, thread, 0}; }

Ops section(std::int64_t lock, Time ns) { return {locks(lock), compute(ns), unlocks(lock)}; }

Thread fifo(std::int64_t priority, std::int64_t cpus = kAll) {
    return {kFifo, priority, cpus, 0, 0, 0, 0, 0, 0};
}
Thread fair(std::int64_t weight = 1024, std::int64_t cpus = kAll) {
    return {kOrdinary, weight, cpus, 0, 0, 0, 0, 0, 0};
}
Thread server(Time runtime, Time deadline, Time period) {
    return {kDeadline, 0, kAll, 0, runtime, deadline, period, 0, 0};
}

struct Sketch {
    std::vector<Thread> threads;
    std::vector<std::int64_t> job_ends, releases, op_ends;
    Ops ops;
    std::vector<Lock> locks;
    Limits limits;

    void job(Time release, const Ops& does) {
        releases.push_back(release);
        ops.insert(ops.end(), does.begin(), does.end());
        op_ends.push_back(static_cast<std::int64_t>(ops.size()));
        job_ends.back()++;
    }
    // A thread, with its first job.
    Sketch& add(const Thread& thread, Time release, const Ops& does) {
        threads.push_back(thread);
        job_ends.push_back(static_cast<std::int64_t>(releases.size()));
        job(release, does);
        return *this;
    }
    Program program() const { return {threads, job_ends, releases, op_ends, ops, locks, limits}; }
    std::vector<Time> ends(std::int64_t cpus = 1, Time horizon = 1'000'000'000) const {
        REQUIRE(refusal(cpus, program(), horizon) == "");
        std::vector<Time> found;
        for (const Outcome& each : run(cpus, program(), horizon)) {
            found.push_back(each.end);
        }
        return found;
    }
};

using Ends = std::vector<Time>;

}  // namespace

TEST_CASE("program: a futex is free for who runs, an inheriting lock is handed on") {
    Sketch sketch;
    sketch.locks = {{kPlain, 0}};
    sketch.add(fifo(20, 1), 0, {locks(0), compute(4), unlocks(0), locks(0), compute(4), unlocks(0)})
        .add(fifo(10, 2), 1, {compute(1), locks(0), compute(1), unlocks(0), compute(1)});
    CHECK(sketch.ends(2) == Ends{8, 10});
    sketch.locks = {{kInherit, 0}};
    CHECK(sketch.ends(2) == Ends{9, 6});
}

TEST_CASE("program: each waiter of a futex wakes the next one") {
    Sketch sketch;
    sketch.locks = {{kPlain, 0}};
    sketch.add(fifo(10, 1), 0, section(0, 4)).add(fifo(20, 2), 1, section(0, 1));
    sketch.add(fifo(30, 2), 2, section(0, 1));
    CHECK(sketch.ends(2) == Ends{4, 6, 5});
    sketch.locks = {{kSpin, 0}};  // the second spins no more when the third does
    CHECK(sketch.ends(2) == Ends{4, 6, 5});
}

TEST_CASE("program: who loses an inherited priority is before its equals") {
    Sketch sketch;
    sketch.locks = {{kInherit, 0}};
    sketch.add(fifo(10), 0, {locks(0), compute(4), unlocks(0), compute(1)});
    sketch.add(fifo(10), 1, {compute(2)}).add(fifo(20), 2, section(0, 1));
    CHECK(sketch.ends() == Ends{6, 8, 5});
}

TEST_CASE("program: inheritance passes through who waits itself") {
    Sketch sketch;
    sketch.locks = {{kInherit, 0}, {kInherit, 0}};
    sketch.add(fifo(10), 0, section(0, 4))
        .add(fifo(20), 1, {locks(1), locks(0), compute(1), unlocks(0), unlocks(1)})
        .add(fifo(30), 2, {compute(5)})
        .add(fifo(40), 3, section(1, 1));
    // 1: [0,2) [3,5), 2: [5,6), 4: [6,7), 3: [2,3) [7,11); who unlocked ends when it runs again.
    CHECK(sketch.ends() == Ends{11, 11, 11, 7});
    sketch.locks = {{kPlain, 0}, {kPlain, 0}};
    CHECK(sketch.ends() == Ends{11, 11, 7, 11});
}

TEST_CASE("program: deadlines are inherited, by ordinary threads too") {
    for (const Thread& holder : {fifo(10), fair()}) {
        Sketch sketch;
        sketch.locks = {{kInherit, 0}};
        sketch.add(holder, 0, section(0, 4))
            .add(server(3, 20, 0), 1, section(0, 1))
            .add(fifo(50), 1, {compute(5)});
        CHECK(sketch.ends() == Ends{10, 5, 10});
        sketch.locks = {{kPlain, 0}};
        CHECK(sketch.ends() == Ends{10, 10, 6});
    }
}

TEST_CASE("program: at the ceiling while held, no longer") {
    Sketch sketch;
    sketch.locks = {{kProtect, 20}};
    sketch.add(fifo(10), 0, section(0, 4)).add(fifo(30), 1, {compute(2)});
    sketch.add(fifo(15), 2, {compute(1)});
    CHECK(sketch.ends() == Ends{7, 3, 7});
}

TEST_CASE("program: who spins keeps its CPU busy") {
    Sketch sketch;
    sketch.locks = {{kSpin, 0}};
    sketch.add(fifo(10, 1), 0, section(0, 4)).add(fifo(20, 2), 1, section(0, 2));
    sketch.add(fifo(5, 2), 1, {compute(1)});
    CHECK(sketch.ends(2) == Ends{4, 6, 7});
    sketch.threads[1] = fifo(20, 1);  // on one CPU for ever
    CHECK(sketch.ends(2) == Ends{-1, -1, 2});
}

TEST_CASE("program: threads that wait for each other never end") {
    Sketch sketch;
    sketch.locks = {{kInherit, 0}, {kInherit, 0}};
    sketch.add(fifo(10), 0, {locks(0), compute(2), locks(1), unlocks(1), unlocks(0)})
        .add(fifo(20), 1, {locks(1), compute(2), locks(0), unlocks(0), unlocks(1)})
        .add(fifo(5), 0, {compute(1)});
    CHECK(sketch.ends() == Ends{-1, -1, 5});
}

TEST_CASE("program: round robin takes turns of 100 ms") {
    constexpr Time ms = 1'000'000;
    Sketch sketch;
    sketch.add(fifo(10), 0, {compute(150 * ms)}).add(fifo(10), 0, {compute(150 * ms)});
    CHECK(sketch.ends() == Ends{150 * ms, 300 * ms});
    sketch.threads[0].policy = sketch.threads[1].policy = kRoundRobin;
    CHECK(sketch.ends() == Ends{250 * ms, 300 * ms});
    CHECK(sketch.ends(2) == Ends{150 * ms, 150 * ms});
}

TEST_CASE("program: SCHED_DEADLINE is throttled, and keeps its budget where the kernel does") {
    Sketch sketch;
    sketch.add(server(2, 10, 10), 0, {compute(5)}).add(fair(), 0, {compute(9)});
    CHECK(sketch.ends() == Ends{21, 13});  // [0,2) [10,12) [20,21)
    sketch = {};
    sketch.add(server(2, 10, 10), 0, {compute(1)});
    sketch.job(2, {compute(2)});  // 1 of 2 is left until 10
    CHECK(sketch.ends() == Ends{1, 11});
    sketch.releases[1] = 9;  // 1 until 10 is more than its share, so a new period begins
    sketch.ops[1].ns = 3;
    CHECK(sketch.ends() == Ends{1, 20});
    sketch = {};
    sketch.add(server(4, 6, 12), 0, {compute(1)});
    sketch.job(4, {compute(2)});  // of 3 until 6 it may have 2 * 4 / 6
    CHECK(sketch.ends() == Ends{1, 13});
}

TEST_CASE("program: ordinary threads share what is left, by weight") {
    Sketch sketch;
    sketch.add(fair(1024), 0, {compute(3)}).add(fair(3072), 0, {compute(9)});
    CHECK(sketch.ends() == Ends{12, 12});
    sketch.add(fifo(1), 4, {compute(5)});
    CHECK(sketch.ends() == Ends{17, 17, 9});
    CHECK(sketch.ends(3) == Ends{3, 9, 9});
}

TEST_CASE("program: who loses its CPU goes to one that it may use") {
    Sketch sketch;
    sketch.add(fifo(10), 0, {compute(10)}).add(fifo(20, 1), 2, {compute(3)});
    CHECK(sketch.ends(2) == Ends{10, 5});
    sketch.threads[0] = fifo(30);  // not to where it was, as who runs there cannot move
    sketch.threads[1].priority = 10;
    sketch.releases = {1, 0};
    CHECK(sketch.ends(2) == Ends{11, 3});
    sketch = {};  // the second waits from 2 on, though CPU 0 is idle from 3
    sketch.add(fair(), 0, {compute(3)})
        .add(fair(), 0, {compute(5)})
        .add(fifo(1, 2), 2, {compute(4)});
    CHECK(sketch.ends(2) == Ends{3, 9, 6});
    sketch.add(fair(1024, 2), 0, {compute(5)});  // not alone there: one of both goes
    CHECK(sketch.ends(2)[1] == 7);
}

TEST_CASE("program: jobs are released by instants, sleeps and wakes, early ones too") {
    Sketch sketch;
    sketch.add(fifo(20, 1), 0, {compute(2), wakes(1), compute(1), wakes(1), wakes(1)});
    sketch.add(fifo(10, 1), -1, {compute(4)});
    sketch.job(-1, {compute(1)});
    Thread sleeper = fifo(30, 2);
    sleeper.how = 1;
    sleeper.wake = 1;
    sketch.add(sleeper, 5, {compute(1), suspends(2), compute(1)});
    sketch.job(3, {});
    sketch.job(30, {});
    const auto found = run(2, sketch.program(), 40);
    const std::vector<Outcome> expected = {{0, 0, 3},  {2, 3, 7},    {3, 7, 8},
                                           {5, 6, 10}, {13, 14, 14}, {-1, -1, -1}};
    const auto same = [](const Outcome& a, const Outcome& b) {
        return a.release == b.release && a.start == b.start && a.end == b.end;
    };
    CHECK(std::ranges::equal(found, expected, same));
}

TEST_CASE("program: what cannot run is refused") {
    Sketch good;
    good.locks = {{kPlain, 0}};
    good.add(fifo(1), 0, section(0, 1));
    const auto refused = [&](auto change, const std::string& said, std::int64_t cpus = 2) {
        Sketch sketch = good;
        change(sketch);
        INFO(refusal(cpus, sketch.program(), 10));
        CHECK(refusal(cpus, sketch.program(), 10).find(said) != std::string::npos);
    };
    refused([](Sketch& s) { s.threads[0].cpus = 4; }, "threads[0]: its mask allows none");
    refused([](Sketch& s) { s.threads[0].priority = 0; }, "priority must be 1 to 99");
    refused([](Sketch& s) { s.threads[0] = server(2, 1, 0); }, "runtime <= deadline");
    refused([](Sketch& s) { s.ops[0].target = 1; }, "ops[0]: no lock 1");
    refused([](Sketch& s) { s.ops[1] = wakes(-1); }, "ops[1]: no thread -1");
    refused([](Sketch& s) { s.ops[1] = locks(0); }, "ops[1]: locks what it holds, lock 0");
    refused([](Sketch& s) { s.ops[0] = unlocks(0); }, "ops[0]: unlocks what it does not hold");
    refused([](Sketch& s) { s.ops[1].ns = -1; }, "ns must be");
    refused([](Sketch& s) { s.op_ends[0] = 4; }, "op_ends must count");
    refused([](Sketch& s) { s.job_ends = {}; }, "job_ends must count");
    refused([](Sketch& s) { s.locks[0].protocol = 4; }, "locks[0]: protocol");
    refused([](Sketch&) {}, "cpus must be", 65);
}

namespace {

Time below(Random& random, Time bound) {
    return static_cast<Time>(random.below(static_cast<std::uint64_t>(bound)));
}

Thread random_thread(Random& random) {
    const Time runtime = 1 + below(random, 30), deadline = runtime + below(random, 60);
    const Time period = below(random, 2) * (deadline + below(random, 30));
    Thread thread = server(runtime, deadline, period);
    thread.policy = below(random, 4);
    thread.priority = 1 + below(random, thread.policy == kOrdinary ? 3000 : 6);
    thread.cpus = below(random, 2) == 0 ? kAll : 1 + 2 * below(random, 4);
    thread.how = below(random, 2);
    thread.wake = below(random, 3);
    return thread;
}

// Locks may be held into the next job, and in any order: threads may wait for each other.
Ops random_ops(Random& random, std::vector<char>& held, std::int64_t threads) {
    Ops ops;
    for (Time count = below(random, 9); count > 0; count--) {
        const std::int64_t lock = below(random, static_cast<Time>(held.size()));
        const Time what = below(random, 10);
        if (what < 4) {
            ops.push_back(compute(below(random, 30)));
        } else if (what < 8) {
            char& own = held[static_cast<std::size_t>(lock)];
            ops.push_back(own != 0 ? unlocks(lock) : locks(lock));
            own = own == 0;
        } else {
            ops.push_back(what == 8 ? suspends(below(random, 20)) : wakes(below(random, threads)));
        }
    }
    return ops;
}

}  // namespace

TEST_CASE("program: jobs that only compute end as in the simulator of task systems") {
    constexpr Time unit = 100'003, span = 1000 * unit;  // few instants with two deadlines
    Random random(7);
    std::size_t compared = 0;
    for (int number = 0; number < 400; number++) {
        const bool edf = number % 2 == 0;
        const auto cpus = static_cast<std::int32_t>(1 + below(random, 4));
        deadbeat::sched::Tasks tasks(static_cast<std::size_t>(1 + below(random, 6)));
        Sketch sketch;
        std::int64_t priority = 1 + below(random, 50);
        for (deadbeat::sched::Task& task : tasks) {
            const Time period = (5 + below(random, 55)) * unit + below(random, unit);
            priority = priority * 31 % 97;  // all differ
            task = deadbeat::sched::Make{.c = 1 + below(random, 3 * period / 4),
                                         .t = period,
                                         .o = below(random, 30 * unit),
                                         .priority = priority};
            const Ops work = {compute(task.wcet)};
            sketch.add(edf ? server(task.wcet, period, 0) : fifo(priority), task.offset, work);
            for (Time at = task.offset + period; at < span; at += period) {
                sketch.job(at, work);
            }
        }
        deadbeat::sched::Options options = deadbeat::sched::with(edf ? "g-edf" : "g-fp");
        options.priorities = "given";
        options.stop_at_miss = false;
        auto result = deadbeat::sched::run(cpus, tasks, options, span);
        if (edf && result.first_miss != deadbeat::sched::kNoMiss) {
            continue;  // a server is throttled, a late job is not
        }
        std::ranges::sort(result.jobs, {}, [](const auto& j) { return std::pair(j.task, j.job); });
        Ends expected;
        for (const auto& job : result.jobs) {
            expected.push_back(job.finish == deadbeat::sched::kNever ? -1 : job.finish);
        }
        CHECK(sketch.ends(cpus, span) == expected);
        compared += expected.size();
    }
    CHECK(compared > 10'000);
}

TEST_CASE("program: who has a deadline stays where it was, above who cannot go elsewhere") {
    Sketch sketch;
    sketch.add(fifo(10, 1), 0, {compute(10)}).add(server(9, 20, 20), 2, {compute(4)});
    CHECK(sketch.ends(2) == Ends{14, 6});
    sketch.threads[1].first = 2;
    CHECK(sketch.ends(2) == Ends{10, 6});
    sketch.threads[1] = fifo(20);  // another CPU is free
    CHECK(sketch.ends(2) == Ends{10, 6});
}

TEST_CASE("program: throttling stops fixed priorities, whatever waits") {
    Sketch sketch;
    sketch.limits = {95, 100, 0, 0, -1};
    sketch.add(fifo(10), 30, {compute(200)});
    CHECK(sketch.ends() == Ends{240});  // its periods are from 30 on
    sketch.limits.begin = 60;           // [30, 155) [160, 235)
    CHECK(sketch.ends() == Ends{235});
    sketch.limits.begin = -1;
    sketch.add(fair(), 0, {compute(32)}).add(server(10, 50, 100), 126, {compute(4)});
    CHECK(sketch.ends() == Ends{240, 226, 130});
}

TEST_CASE("program: who inherits is not throttled, and what it had is taken off later") {
    Sketch sketch;
    sketch.limits = {10, 20, 0, 0, -1};
    sketch.locks = {{kInherit, 0}};
    sketch.add(fifo(10), 0, {locks(0), compute(15), unlocks(0), compute(20)});
    sketch.add(fifo(20), 8, section(0, 2));
    CHECK(sketch.ends() == Ends{67, 22});  // [0, 15) [22, 25) [40, 50) [60, 67)
}

TEST_CASE("program: the fair server is above fixed priorities where ordinary threads starve") {
    Sketch sketch;
    sketch.limits = {0, 0, 5, 100, -1};
    sketch.add(fifo(10), 0, {compute(200)});
    CHECK(sketch.ends() == Ends{200});
    sketch.add(fair(), 0, {compute(20)});  // [95, 100), [195, 200), [210, 220)
    CHECK(sketch.ends() == Ends{210, 220});
    sketch.releases = {12, 0};  // [0, 12), of which 2 are of the third budget: [107, 110)
    CHECK(sketch.ends() == Ends{220, 210});
}

TEST_CASE("program: released together, first jobs take what response-time analysis says") {
    Random random(8);
    for (int number = 0; number < 200; number++) {
        const Time count = 1 + below(random, 5);
        std::vector<Time> costs, periods;
        Sketch sketch;
        for (Time i = 0; i < count; i++) {
            periods.push_back(20 + below(random, 200));
            costs.push_back(1 + below(random, periods.back() / count));
            sketch.add(fifo(90 - i), 0, {compute(costs.back())});
            for (Time at = periods.back(); at < 5000; at += periods.back()) {
                sketch.job(at, {compute(costs.back())});
            }
        }
        const Ends ends = sketch.ends(1, 5000);
        for (std::size_t i = 0; i < costs.size(); i++) {
            Time response = 0;
            for (Time next = costs[i]; next != response && next < 5000;) {
                response = next;
                next = costs[i];
                for (std::size_t k = 0; k < i; k++) {
                    next += (response + periods[k] - 1) / periods[k] * costs[k];
                }
            }
            const auto first = i == 0 ? 0 : static_cast<std::size_t>(sketch.job_ends[i - 1]);
            CHECK(ends[first] == response);
        }
    }
}

TEST_CASE("program: random ones end, in order") {
    Random random(33);
    std::size_t ended = 0;
    for (int number = 0; number < 3000; number++) {
        Sketch sketch;
        const std::int64_t threads = 1 + below(random, 7), cpus = 1 + below(random, 4);
        for (Time lock = 1 + below(random, 3); lock > 0; lock--) {
            sketch.locks.push_back({below(random, 4), 1 + below(random, 9)});
        }
        if (const Time period = below(random, 60), other = below(random, 60); number % 3 == 0) {
            sketch.limits = {1 + period / 2, period, 1 + other / 4, other, below(random, 50) - 1};
        }
        for (std::int64_t i = 0; i < threads; i++) {
            std::vector<char> held(sketch.locks.size());
            sketch.add(random_thread(random), below(random, 40), {});
            for (Time jobs = below(random, 10), at = 40; jobs > 0;
                 jobs--, at += below(random, 30)) {
                sketch.job(below(random, 4) == 0 ? -1 : at, random_ops(random, held, threads));
            }
        }
        REQUIRE(refusal(cpus, sketch.program(), 100'000) == "");
        Time last = 0;
        std::size_t job = 0;
        const auto found = run(cpus, sketch.program(), 100'000);
        for (const std::int64_t end : sketch.job_ends) {
            for (last = 0; job < static_cast<std::size_t>(end); job++) {
                const Outcome& each = found[job];
                CHECK((each.end < 0 || (each.end >= each.start && each.start >= last &&
                                        each.start >= each.release && each.release >= 0)));
                last = each.end < 0 ? 100'000 : each.end;
                ended += each.end >= 0;
            }
        }
    }
    CHECK(ended > 10'000);
}
