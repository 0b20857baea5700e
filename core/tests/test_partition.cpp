// Bin packing of tasks: examples worked by hand, exact sums, exact admission.
#include <doctest/doctest.h>

#include "../src/shares.hpp"
#include "deadbeat/sched/partition.hpp"
#include "schedules.hpp"

using namespace deadbeat::sched;

namespace {

using Clusters = std::vector<std::int32_t>;

Partition packed(const Tasks& tasks, Options options, std::int32_t clusters,
                 std::int32_t capacity = 1, bool fixed_priority = false) {
    return place({clusters * capacity, tasks}, options, clusters, capacity, fixed_priority);
}

Options heuristic(const std::string& name, const std::string& order = "file") {
    Options options;
    options.partition = name;
    options.order = order;
    return options;
}

Options exact() {
    Options options;
    options.admission = "exact";
    return options;
}

// 0.5 0.7 0.5 0.2 0.4 0.2 0.5 0.1
const Tasks kEight = {Make{5, 10}, Make{7, 10}, Make{5, 10}, Make{2, 10},
                      Make{4, 10}, Make{2, 10}, Make{5, 10}, Make{1, 10}};

}  // namespace

TEST_CASE("the four heuristics on eight tasks") {
    CHECK(packed(kEight, heuristic("next-fit"), 5).cluster == Clusters{0, 1, 2, 2, 3, 3, 4, 4});
    CHECK(packed(kEight, heuristic("first-fit"), 4).cluster == Clusters{0, 1, 0, 1, 2, 2, 3, 1});
    CHECK(packed(kEight, heuristic("best-fit"), 4).cluster == Clusters{0, 1, 0, 1, 2, 2, 3, 1});
    CHECK(packed(kEight, heuristic("worst-fit"), 4).cluster == Clusters{0, 1, 2, 3, 3, 0, 2, 3});
    // Best fit differs from first fit: 0.3 goes to 0.6, not to 0.5.
    const Tasks four = {Make{5, 10}, Make{6, 10}, Make{3, 10}};
    CHECK(packed(four, heuristic("first-fit"), 2).cluster == Clusters{0, 1, 0});
    CHECK(packed(four, heuristic("best-fit"), 2).cluster == Clusters{0, 1, 1});
    CHECK(packed(kEight, heuristic("auto"), 4).cluster ==
          packed(kEight, heuristic("first-fit"), 4).cluster);
    CHECK(packed(kEight, heuristic("auto"), 2, 2).cluster ==
          packed(kEight, heuristic("worst-fit"), 2, 2).cluster);
}

TEST_CASE("next fit never looks back") {
    const Partition partition = packed(kEight, heuristic("next-fit"), 4);
    CHECK(partition.first_unplaced == 6);  // 0.5 beside 0.6, though 0.3 are free on processor 1
    CHECK(partition.unplaced == Clusters{6});
    CHECK(partition.cluster == Clusters{0, 1, 2, 2, 3, 3, -1, 3});
}

TEST_CASE("orders place by their key, equal ones as in the file") {
    // (C, T, D); one processor each: the cluster number is the place in the order.
    const Tasks tasks = {Make{6, 10, 9}, Make{7, 11, 8}, Make{6, 9, 9}, Make{9, 15, 9}};
    const auto places = [&](const char* order) {
        return packed(tasks, heuristic("first-fit", order), 4).cluster;
    };
    CHECK(places("file") == Clusters{0, 1, 2, 3});
    CHECK(places("utilisation-desc") == Clusters{2, 1, 0, 3});  // .6 .636 .667 .6
    CHECK(places("utilisation-asc") == Clusters{0, 2, 3, 1});
    CHECK(places("period-asc") == Clusters{1, 2, 0, 3});
    CHECK(places("period-desc") == Clusters{2, 1, 3, 0});
    CHECK(places("deadline-asc") == Clusters{1, 0, 2, 3});
    CHECK(places("density-desc") == Clusters{2, 1, 3, 0});  // .667 .875 .667 1
}

TEST_CASE("homes come first and are not asked; the least loaded takes whoever fits nowhere") {
    Tasks tasks = {Make{6, 10}, Make{6, 10}, Make{5, 10}, Make{6, 10}};
    tasks[3].home = 0;
    Options options = heuristic("first-fit");
    const Partition rejected = packed(tasks, options, 2);
    CHECK(rejected.cluster == Clusters{1, -1, -1, 0});
    CHECK(rejected.unplaced == Clusters{1, 2});
    options.unplaced = "least-loaded";
    const Partition placed = packed(tasks, options, 2);
    CHECK(placed.cluster == Clusters{1, 0, 1, 0});  // 1: 0.6 on both, the lower; 2: 1.2 against 0.6
    CHECK(placed.first_unplaced == 1);
    tasks[3].home = 1;
    tasks[0].home = 1;
    CHECK(packed(tasks, options, 2).cluster == Clusters{1, 0, 0, 1});  // 1.2 on processor 1
}

TEST_CASE("clusters of two hold up to 2; density is C/min(D, T)") {
    const Tasks tasks(3, Make{2, 3});
    CHECK(packed(tasks, heuristic("first-fit"), 1, 2).cluster == Clusters{0, 0, 0});
    CHECK(packed(Tasks(4, Make{2, 3}), heuristic("first-fit"), 1, 2).first_unplaced == 3);
    Options density = heuristic("first-fit");
    density.admission = "density";
    CHECK(packed({Make{1, 4, 2}, Make{1, 4, 2}, Make{1, 9, 20}}, density, 2).cluster ==
          Clusters{0, 0, 1});
}

TEST_CASE("sums that are exactly 1, and more by the least that can be") {
    const auto fits = [](const Tasks& tasks, std::int32_t capacity = 1) {
        return packed(tasks, heuristic("first-fit"), 1, capacity).first_unplaced < 0;
    };
    CHECK(fits(Tasks(3, Make{1, 3})));
    CHECK(fits({Make{1, 2}, Make{1, 3}, Make{1, 6}}));
    constexpr Time big = Time{1} << 60;
    CHECK(fits({Make{big - 1, big}, Make{1, big}}));
    CHECK(!fits({Make{big - 1, big}, Make{1, big - 1}}));
    // Denominators whose product needs 600 bits: no common denominator of 128.
    Tasks wide;
    for (const Time less : {93, 107, 173, 179, 257, 279, 369, 395, 399, 453}) {
        wide.push_back(Make{12345, big - less});
        wide.push_back(Make{big - less - 12345, big - less});
    }
    CHECK(fits(wide, 10));
    wide.back().wcet++;
    CHECK(!fits(wide, 10));
    wide.back().wcet -= 2;
    CHECK(fits(wide, 10));
}

TEST_CASE("signs of sums: cancelling terms, both ways of counting") {
    constexpr Time big = (Time{1} << 60) - 93;
    const std::vector<ShareTerm> zero = {{1, 5, big}, {-1, 3, big}, {-2, 1, big}};
    CHECK(sign_of_sum(zero, 0) == 0);
    std::vector<ShareTerm> terms = zero;
    for (const Time less : {14, 80, 86, 114}) {  // different denominators of 60 bits
        terms.push_back({2, 7, big - less});
        terms.push_back({-1, 14, big - less});
    }
    CHECK(sign_of_sum(terms, 0) == 0);
    CHECK(sign_of_sum(terms, 1) == -1);
    CHECK(sign_of_sum(terms, -1) == 1);
    terms.push_back({1, 1, big - 200});
    CHECK(sign_of_sum(terms, 0) == 1);
    terms.push_back({-1, 1, big - 201});
    CHECK(sign_of_sum(terms, 0) == -1);
}

TEST_CASE("exact admission by processor demand") {
    // Densities sum to 7/6, but 1 is due by 2 and 3 by 3.
    CHECK(packed({Make{1, 10, 2}, Make{2, 10, 3}}, exact(), 1).first_unplaced < 0);
    CHECK(packed({Make{1, 10, 2}, Make{3, 10, 3}}, exact(), 1).first_unplaced >= 0);
    // Demand exceeds time only at 18: 5 + 2 * 2 + 10 due.
    const Tasks middle = {Make{5, 50, 5}, Make{2, 9, 9}, Make{10, 50, 18}};
    CHECK(packed(middle, exact(), 1).first_unplaced == 0);  // placed last, by utilisation
    CHECK(packed({middle[0], middle[1], Make{9, 50, 18}}, exact(), 1).first_unplaced < 0);
    CHECK(packed({Make{2, 5}, Make{4, 7}}, exact(), 1).first_unplaced < 0);
    CHECK(packed({Make{2, 5}, Make{4, 7}}, exact(), 1, 1, true).first_unplaced == 0);
    CHECK(packed({Make{1, 2}}, exact(), 1, 2).refusal ==
          "exact admission needs clusters of one processor, these have 2");
}

TEST_CASE("Lehoczky 1990: (26, 70), (62, 100), the fifth job of the second takes longest, 118") {
    const auto fits = [](Time deadline) {
        return packed({Make{26, 70}, Make{62, 100, deadline}}, exact(), 1, 1, true).first_unplaced <
               0;
    };
    CHECK(fits(118));
    CHECK(!fits(117));
}

TEST_CASE("Liu and Layland: harmonic periods fill a processor under rate monotonic priorities") {
    CHECK(packed({Make{1, 2}, Make{1, 4}, Make{2, 8}}, exact(), 1, 1, true).first_unplaced < 0);
    // Levels equal, order by ties: the same either way.
    CHECK(packed({Make{2, 4}, Make{2, 4}}, exact(), 1, 1, true).first_unplaced < 0);
}

TEST_CASE("an exact admission out of reach is refused, not guessed") {
    // Utilisation next to 1, periods that drift apart: the busy period goes on beyond 2^62.
    Tasks tasks;
    for (const Time more : {1, 101, 5001}) {
        const Time period = (Time{1} << 58) + more;
        tasks.push_back(Make{period / 3, period, period - 1});
    }
    CHECK(packed(tasks, exact(), 1).refusal.starts_with("undecided whether task"));
    for (Task& task : tasks) {
        task.deadline = kParameterMax;
    }
    CHECK(packed(tasks, exact(), 1).first_unplaced < 0);  // D >= T: utilisation decides for EDF
    const Partition fixed = packed(tasks, exact(), 1, 1, true);
    CHECK(fixed.refusal.starts_with("undecided whether task"));
}
