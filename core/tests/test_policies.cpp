// Every policy on a schedule made by hand, and on the literature's examples.
#include <doctest/doctest.h>

#include "deadbeat/sched/policy.hpp"
#include "schedules.hpp"

using namespace deadbeat::sched;

namespace {

// Dhall and Liu 1978 for EDF: m light tasks delay a heavy one, at any m.
Tasks dhall_edf(std::int32_t m) {
    Tasks tasks(static_cast<std::size_t>(m), Make{2, 20});
    tasks.push_back(Make{21, 22});
    return tasks;
}

// Dhall and Liu 1978 for RM.
Tasks dhall_rm(std::int32_t m) {
    Tasks tasks(static_cast<std::size_t>(m), Make{1, 10});
    tasks.push_back(Make{10, 11});
    return tasks;
}

const Tasks kThreeOfTwoThirds(3, Make{2, 3});

}  // namespace

TEST_CASE("Dhall and Liu: global EDF and RM miss at little utilisation, others do not") {
    for (const std::int32_t m : {2, 3, 8}) {
        const Result edf = run(m, dhall_edf(m), with("g-edf"), 220);
        CHECK(edf.first_miss == 22);
        CHECK(edf.first_miss_task == m);
        CHECK(edf.first_miss_job == 0);
        CHECK(first_miss(m, dhall_edf(m), with("g-fp"), 220) == 22);
        CHECK(first_miss(m, dhall_rm(m), with("g-fp"), 110) == 11);
        CHECK(first_miss(m, dhall_rm(m), with("g-edf"), 110) == kNoMiss);
        for (const char* policy : {"p-edf", "p-fp", "edf-us", "fpedf", "edzl"}) {
            CAPTURE(policy);
            CHECK(first_miss(m, dhall_edf(m), with(policy), 220) == kNoMiss);
            CHECK(first_miss(m, dhall_rm(m), with(policy), 110) == kNoMiss);
        }
    }
}

TEST_CASE("SchedCAT tests/sim.py: three tasks (2, 3) miss at 3 on one and two processors") {
    CHECK(first_miss(1, kThreeOfTwoThirds, with("g-edf"), 6) == 3);
    CHECK(first_miss(2, kThreeOfTwoThirds, with("g-edf"), 6) == 3);
    CHECK(first_miss(3, kThreeOfTwoThirds, with("g-edf"), 6) == kNoMiss);
}

TEST_CASE("the smallest set whose verdict hangs on ties") {
    const Tasks tasks = {Make{1, 2}, Make{1, 2}, Make{2, 2}};
    CHECK(first_miss(2, tasks, with("g-edf"), 2 + 1) == 2);
    Options options = with("g-edf");
    options.ties = "reverse";
    CHECK(first_miss(2, tasks, options, 3) == kNoMiss);
    options.ties = "utilisation-desc";
    CHECK(first_miss(2, tasks, options, 3) == kNoMiss);
}

TEST_CASE("one processor: EDF schedules (2, 5), (4, 7) of utilisation 34/35, RM misses at 7") {
    const Tasks tasks = {Make{2, 5}, Make{4, 7}};
    for (const char* policy : {"g-fp", "p-fp"}) {
        Options options = with(policy);
        options.admission = "utilisation";
        CHECK(first_miss(1, tasks, options, 35) == 7);
        CHECK(drawn(1, tasks, options, 8) == "AABBBAAB\n");
    }
    CHECK(first_miss(1, tasks, with("g-edf"), 36) == kNoMiss);
    CHECK(drawn(1, tasks, with("p-edf"), 8) == "AABBBBAA\n");
}

TEST_CASE("fixed priorities: rate monotonic, deadline monotonic, given (larger first)") {
    const Tasks tasks = {Make{.c = 2, .t = 8, .d = 4, .priority = 2},
                         Make{.c = 2, .t = 6, .d = 6, .priority = 1},
                         Make{.c = 2, .t = 9, .d = 9, .priority = 3}};
    Options options = with("g-fp");
    CHECK(drawn(1, tasks, options, 6) == "BBAACC\n");
    options.priorities = "dm";
    CHECK(drawn(1, tasks, options, 6) == "AABBCC\n");
    options.priorities = "given";
    CHECK(drawn(1, tasks, options, 6) == "CCAABB\n");
    // Extremes of the given ones do not wrap.
    Tasks extreme = tasks;
    extreme[0].priority = std::numeric_limits<std::int64_t>::min();
    extreme[1].priority = std::numeric_limits<std::int64_t>::max();
    CHECK(drawn(1, extreme, options, 6) == "BBCCAA\n");
}

TEST_CASE("clusters: three tasks (2, 3) of one cluster of two miss while the other idles") {
    Tasks tasks = kThreeOfTwoThirds;
    for (Task& task : tasks) {
        task.home = 0;
    }
    for (const char* policy : {"c-edf", "c-fp"}) {
        CHECK(first_miss(4, tasks, with(policy), 6) == 3);
        // C runs in the unit its cluster leaves idle.
        CHECK(drawn(4, tasks, with(policy), 3) == "AAC\nBB.\n...\n...\n");
        Options options = with(policy);
        CHECK(first_miss(4, kThreeOfTwoThirds, options, 6) == kNoMiss);  // auto: worst fit
        options.partition = "first-fit";                                 // all three on cluster 0
        CHECK(first_miss(4, kThreeOfTwoThirds, options, 6) == 3);
        options.partition = "worst-fit";
        CHECK(first_miss(4, kThreeOfTwoThirds, options, 6) == kNoMiss);
        options.cluster_size = 3;
        const Result refused = run(4, tasks, options, 6);
        CHECK(refused.outcome == Outcome::refused);
        CHECK(refused.reason == "clusters of 3 do not divide 4 processors");
    }
}

TEST_CASE("loose clustered: a guest uses the idle cluster, and its home comes first") {
    Tasks tasks = kThreeOfTwoThirds;
    for (Task& task : tasks) {
        task.home = 0;
    }
    CHECK(first_miss(4, tasks, with("lc-edf"), 12) == kNoMiss);
    CHECK(drawn(4, tasks, with("lc-edf"), 4) == "AA.A\nBB.B\nCC.C\n....\n");

    // A and B live on processor 0, C on 1. B is a guest there until C comes, at 1.
    const Tasks evicted = {Make{.c = 2, .t = 4, .home = 0}, Make{.c = 3, .t = 6, .home = 0},
                           Make{.c = 1, .t = 6, .o = 1, .home = 1}};
    Options options = with("lc-edf");
    options.cluster_size = 1;
    options.balance = "pull";
    CHECK(drawn(2, evicted, options, 4) == "AABB\nBC..\n");
    const Result result = run(2, evicted, options, 4);
    CHECK(result.tasks[1].preemptions == 1);
    CHECK(result.tasks[1].migrations == 1);
    CHECK(result.tasks[1].cross_cluster == 1);
    options.balance = "sticky";
    CHECK(drawn(2, evicted, options, 4) == "AAC.\nBBB.\n");  // B, due at 6, keeps C, due at 7, off
    Tasks urgent = evicted;
    urgent[2].deadline = 3;
    CHECK(drawn(2, urgent, options, 4) == "AA..\nBCBB\n");  // ... but not C due at 4: B waits there
    options.balance = "none";
    CHECK(drawn(2, evicted, options, 5) == "AABBB\n.C...\n");
}

TEST_CASE("loose clustered: equalised homes, least loaded, whoever fits nowhere") {
    // First fit puts 0.4, 0.3 and 0.2 on processor 0; moving 0.4 leaves a gap of 0.1.
    const Tasks tasks = {Make{4, 10}, Make{3, 10}, Make{2, 10}};
    Options options = with("lc-edf");
    options.cluster_size = 1;
    CHECK(run(2, tasks, options, 10).placed == std::vector<std::int32_t>{1, 0, 0});
    options.balance = "pull";
    CHECK(run(2, tasks, options, 10).placed == std::vector<std::int32_t>{0, 0, 0});
    Tasks bound = tasks;
    bound[0].home = 0;  // stays: 0.3 leaves the least, |0.9 - 0.6|, then 0.2, |0.3 - 0.4|
    options.balance = "offline";
    CHECK(run(2, bound, options, 10).placed == std::vector<std::int32_t>{0, 1, 1});

    // A joins cluster 0, B the empty cluster 1, C where the utilisation is 0.1 rather than 0.5.
    options.balance = "release";
    CHECK(drawn(2, {Make{2, 20}, Make{1, 2}, Make{1, 6}}, options, 4) == "CAA.\nB.B.\n");

    options.balance = "both";
    const Result result = run(2, kThreeOfTwoThirds, options, 3);
    CHECK(result.outcome == Outcome::miss);
    REQUIRE(result.remarks.size() == 2);
    CHECK(result.remarks[1] == "task 2 fits nowhere: processor 0, the least utilised, takes it");
}

TEST_CASE("EDF-US: a threshold of 1 is EDF; the tasks above it go first") {
    Options options = with("edf-us");
    options.threshold_numerator = 1;
    CHECK(first_miss(2, dhall_edf(2), options, 44) == 22);
    options.threshold_numerator = 21;  // 21/22 is not above 21/22
    options.threshold_denominator = 22;
    CHECK(first_miss(2, dhall_edf(2), options, 44) == 22);
    options.threshold_denominator = 23;
    CHECK(first_miss(2, dhall_edf(2), options, 44) == kNoMiss);
    // Two heavy tasks (above 2/3) hold both processors; C, with the earliest deadline, is late.
    const Tasks tasks = {Make{8, 10}, Make{7, 10}, Make{1, 6}};
    CHECK(drawn(2, tasks, with("edf-us"), 10) == "AAAAAAAA..\nBBBBBBBCC.\n");
    // fpEDF takes m - 1 = 1 heavy task only.
    CHECK(drawn(2, tasks, with("fpedf"), 10) == "AAAAAAAA..\nCBBBBBBBC.\n");
}

TEST_CASE("EDZL: zero laxity comes first, which saves three tasks (2, 3) on two processors") {
    // At 1 C must run without a break; at 2 A is done and B takes its place.
    CHECK(drawn(2, kThreeOfTwoThirds, with("edzl"), 3) == "AAB\nBCC\n");
    CHECK(first_miss(2, kThreeOfTwoThirds, with("edzl"), 9) == kNoMiss);
    // Laxity runs out between releases and completions: B's at 3, A's at 4, whose deadline is
    // first.
    const Tasks tasks = {Make{5, 6}, Make{4, 7}};
    CHECK(drawn(1, tasks, with("edzl"), 6) == "AAABAA\n");
}

TEST_CASE("non-preemptive: who runs is not disturbed") {
    // One processor: A comes a unit after B and must wait, too long.
    const Tasks two = {Make{.c = 2, .t = 4, .o = 1}, Make{5, 10}};
    for (const char* policy : {"g-np-edf", "p-np-edf", "g-np-fp", "p-np-fp"}) {
        CAPTURE(policy);
        CHECK(drawn(1, two, with(policy), 8) == "BBBBBAAA\n");
        CHECK(first_miss(1, two, with(policy), 8) == 5);
    }
    CHECK(drawn(1, two, with("g-edf"), 8) == "BAABBAAB\n");
    // Two processors: A takes the first one that is free; C before D by deadline, D by priority.
    const Tasks four = {Make{.c = 1, .t = 9, .o = 1, .priority = 1}, Make{.c = 3, .t = 6},
                        Make{.c = 2, .t = 7, .o = 2}, Make{.c = 2, .t = 8, .o = 2, .priority = 2}};
    Options options = with("g-np-edf");
    options.ties = "reverse";
    CHECK(drawn(2, four, options, 6) == "BBBDD.\n.ACC..\n");
    options = with("g-np-fp");
    options.priorities = "given";
    CHECK(drawn(2, four, options, 6) == "BBBCC.\n.ADD..\n");
}

TEST_CASE("CBS: an overrun is the overrunning task's own") {
    // A wants 3 of 8 with a server of 2 in 4: throttled from 2 to 4. B keeps its 2 in 4.
    const Tasks tasks = {
        Make{.c = 3, .t = 8, .budget = 2, .server_period = 4, .server_deadline = 4}, Make{2, 4}};
    for (const char* policy : {"g-cbs", "p-cbs"}) {
        CHECK(drawn(1, tasks, with(policy), 8) == "AABBABB.\n");
    }
    // A in an endless loop, 8 of 8: B misses nothing (temporal isolation, Abeni and Buttazzo).
    Tasks endless = tasks;
    endless[0].wcet = 8;
    Options options = with("g-cbs");
    options.stop_at_miss = false;
    const Result result = run(1, endless, options, 80);
    CHECK(result.tasks[0].missed > 0);
    CHECK(result.tasks[1].missed == 0);
}

TEST_CASE("CBS wake-up: a share above the server's begins anew; exhausted means throttled") {
    // A, server 2 in 6: at 4, q = 1, d = 6, 1/2 > 1/3, so d = 10 and B (d = 9) is not disturbed.
    const Tasks renewed = {
        Make{.c = 1, .t = 4, .budget = 2, .server_period = 6, .server_deadline = 6},
        Make{.c = 5, .t = 8, .o = 1}};
    CHECK(drawn(1, renewed, with("g-cbs"), 7) == "ABBBBBA\n");
    // Server 1 in 6 with jobs every 5: the second waits from 5 until the replenishment at 6.
    const Tasks late = {
        Make{.c = 1, .t = 5, .budget = 1, .server_period = 6, .server_deadline = 6}};
    CHECK(drawn(1, late, with("g-cbs"), 13) == "A.....A.....A\n");
}

TEST_CASE("CBS as Linux: constrained servers, 2 in 4 of 8") {
    const auto task = [](Time period) {
        return Tasks{Make{
            .c = 1, .t = period, .d = 30, .budget = 2, .server_period = 8, .server_deadline = 4}};
    };
    // At 2 q/(d - now) = 1/2 is Q/D: kept. Exhausted at 3; the jobs of 4 and 6 wait for 8.
    CHECK(drawn(1, task(2), with("g-cbs"), 16) == "A.A.....AA......\n");
    // At 3 1/1 > 1/2: the revised rule leaves floor(2 * 1/4) = 0, nothing until 8.
    CHECK(drawn(1, task(3), with("g-cbs"), 9) == "A.......A\n");
    // At 5, after d = 4 and before the next period at 8: throttled until then. At 10 q = 1 is kept.
    CHECK(drawn(1, task(5), with("g-cbs"), 12) == "A.......A.A.\n");
    // What sched_setattr refuses.
    const Result refused = run(1, {Make{.c = 1, .t = 5, .d = 6}}, with("g-cbs"), 9);
    CHECK(refused.outcome == Outcome::refused);
    CHECK(refused.reason.find("runtime <= deadline <= period") != std::string::npos);
}

TEST_CASE("PD2: three tasks of weight 2/3 fill two processors") {
    // Windows [0,2), [1,3). At 1 C's first (due at 2) and A's second; at 2 B's and C's second.
    CHECK(drawn(2, kThreeOfTwoThirds, with("pd2"), 3) == "AAB\nBCC\n");
    // Not early: weight 2/5, windows [0,3) and [2,5).
    CHECK(drawn(1, {Make{2, 5}}, with("pd2"), 10) == "A.A..A.A..\n");
    // b: A (1/3, due at 3, b = 0) gives way to B (3/8, due at 3, b = 1; its second may run from 2).
    CHECK(drawn(1, {Make{1, 3}, Make{3, 8}}, with("pd2"), 3) == "BAB\n");
    // Both due at 2 with b = 1: B's group deadline, 5, is after A's, 3.
    CHECK(drawn(1, {Make{2, 3}, Make{4, 5}}, with("pd2"), 1) == "B\n");
    // The quantum is what divides all times.
    CHECK(drawn(2, Tasks(3, Make{4, 6}), with("pd2"), 6) == "AAAABB\nBBCCCC\n");
    CHECK(run(1, {Make{1, 3, 2}}, with("pd2"), 3).outcome == Outcome::refused);
}

TEST_CASE("FIFO within a level: the woken to the tail, the preempted at the head") {
    Options options = with("p-fifo");
    options.priorities = "given";
    // B wakes at 1 on A's level: waits. Under fixed priorities by index it would be A's turn.
    const Tasks pair = {Make{.c = 2, .t = 10, .o = 1}, Make{.c = 3, .t = 10}};
    CHECK(drawn(1, pair, options, 5) == "BBBAA\n");
    Options ranked = options;
    ranked.policy = "p-fp";
    CHECK(drawn(1, pair, ranked, 5) == "BAABB\n");
    // B is more urgent and interrupts A at 1, when C wakes on A's level: A is still before C.
    const Tasks urgent = {Make{.c = 3, .t = 10}, Make{.c = 1, .t = 10, .o = 1, .priority = 1},
                          Make{.c = 2, .t = 10, .o = 1}};
    options.ties = "reverse";
    CHECK(drawn(1, urgent, options, 6) == "ABAACC\n");
    // Two that wake at one instant: by the tie rule.
    CHECK(drawn(1, {Make{1, 4}, Make{2, 4}}, options, 3) == "BBA\n");
}

TEST_CASE("FIFO: a task that is late does not sleep, and keeps its place") {
    // B runs from 1 to 4. A wakes at 2, C at 3, and A's next job comes at 4, when A has not begun:
    // A goes on with it at 5, before C. At 6 A slept, its next job is behind C.
    Options options = with("p-fifo");
    options.priorities = "given";
    options.unplaced = "least-loaded";  // the utilisation is above 1
    const Tasks tasks = {Make{.c = 1, .t = 2, .d = 4}, Make{.c = 3, .t = 8, .o = 1},
                         Make{.c = 1, .t = 8, .o = 3}};
    CHECK(drawn(1, tasks, options, 8) == "ABBBAACA\n");
}

TEST_CASE("words a policy does not know are refused with what it knows") {
    const auto reason = [](const char* policy, auto change) {
        Options options = with(policy);
        change(options);
        const Result result = run(2, {Make{1, 2}}, options, 2);
        CHECK(result.outcome == Outcome::refused);
        return result.reason;
    };
    CHECK(reason("p-edf", [](Options& o) { o.partition = "foo"; }) ==
          "there is no partitioning heuristic \"foo\" (auto, next-fit, first-fit, best-fit, "
          "worst-fit)");
    CHECK(reason("p-edf", [](Options& o) { o.order = "foo"; }).starts_with("there is no order"));
    CHECK(reason("c-edf", [](Options& o) {
              o.admission = "foo";
          }).starts_with("there is no admission"));
    CHECK(reason("c-edf", [](Options& o) { o.unplaced = "foo"; }).starts_with("there is no rule"));
    CHECK(reason("c-edf", [](Options& o) { o.cluster_size = 0; }) ==
          "clusters of 0 do not divide 2 processors");
    CHECK(reason("lc-edf", [](Options& o) { o.balance = "bar"; }) ==
          "there is no balance \"bar\" (none, offline, pull, both, sticky, release)");
    for (const char* policy : {"g-fp", "p-fp", "c-fp", "g-np-fp", "p-np-fp", "p-fifo"}) {
        CHECK(reason(policy, [](Options& o) { o.priorities = "x"; }) ==
              "there are no priorities \"x\" (rm, dm, given)");
    }
    CHECK(reason("edf-us", [](Options& o) { o.threshold_numerator = -1; }) ==
          "the threshold -1/1 is no positive fraction");
    const Result bound = run(2, {Make{.c = 1, .t = 2, .home = 2}}, with("p-edf"), 2);
    CHECK(bound.reason == "task 0 is bound to cluster 2, there are 2");
}
