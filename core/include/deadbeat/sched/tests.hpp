// Schedulability tests: one file under src/tests/ is one test, and registers itself.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "deadbeat/sched/options.hpp"
#include "deadbeat/sched/system.hpp"

namespace deadbeat::sched {

enum class TestAnswer : int {
    not_accepted = 0,  // a sufficient test that does not accept says nothing
    accepted = 1,      // proved schedulable (bounds: the bounds hold)
    refuted = 2,       // proved not schedulable (exact and necessary tests only), by any placement
    not_applicable = 3,  // outside what the test is for, `reason` says what
    undecided = 4,       // the budget was used up, or a number does not fit
};

enum class TestKind : int {
    sufficient = 0,  // accepted or not_accepted
    exact = 1,       // accepted or refuted; not_accepted where only this placement fails
    necessary = 2,   // refuted or not_accepted
    bound = 3,       // gives bounds, for example of tardiness
};

struct TestOptions {
    std::string priorities = "rm";   // as in Options, or opa: Audsley's; fixed-priority tests
    std::string ties = "index";      // equal priorities under FP are ordered by it
    std::string partition = "auto";  // as in Options, or any: what accepts; partitioned tests
    std::string order = "utilisation-desc";
    std::string admission = "auto";
    Time blocking = 0;                 // longest non-preemptive section, uniprocessor tests
    Time supply_budget = 0;            // of a reservation that all tasks run in (0: none),
    Time supply_period = 0;            // every so often
    std::int64_t budget = 50'000'000;  // elementary steps after which it is `undecided`
};

// Costs from which on a test is run where it is named, only.
inline constexpr int kAskedOnly = 100;

struct TestInfo {
    std::string name;       // gfb
    std::string title;      // GFB / density bound
    std::string reference;  // Goossens, Funk and Baruah, Real-Time Systems 25, 2003
    std::string scheduler;  // the policy it is about: g-edf; "any": every one
    std::string model;      // sporadic (implies periodic, any offsets), or periodic-offset
    std::string ties;       // "any", or "given": the rule of the options, which orders priorities
    std::string deadlines;  // the widest class it takes: implicit, constrained, arbitrary
    TestKind kind;
    int cost;  // order of costs, cheapest first: 0 linear .. 100 exponential
    // Counts whole instants: an acceptance is for releases and execution times at these, and a
    // finer unit may miss. Else for any instants.
    bool whole_instants = false;
    unsigned models = kNothing;  // what of `Beyond` it takes account of
    std::string protocols = "";  // of locks: inherit, protect ... (deadbeat/model/systems.py)
    bool assigns = false;   // takes priorities "opa": what a task needs of those above is their set
    bool reserved = false;  // takes account of a reservation
};

struct TestVerdict {
    TestAnswer answer = TestAnswer::not_accepted;
    const char* reason = "";  // static text
};

// `bounds`: empty, or one place per task for a bound of its response time (or tardiness), kNever
// where there is none. `system` is sound (defects() is empty). Exact arithmetic: doubles may only
// decide where an error bound allows it.
using TestFunction = TestVerdict (*)(const System& system, const TestOptions& options,
                                     std::span<Time> bounds);

// Of a test that the given placement fails, and proves that another does not.
inline constexpr std::string_view kAnotherMeets =
    "this placement fails, another meets all deadlines";

// What `test` says of the first placement that it accepts, of every heuristic in every order, which
// `reason` names and `options` then hold, or of the one that its own search finds; else of the
// last. Refuted speaks of all.
TestVerdict best_placement(TestFunction test, const System& system, TestOptions& options,
                           std::span<Time> bounds);

struct TestEntry {
    TestInfo info;
    TestFunction test;

    // Not applicable to a system with anything that it does not model.
    TestVerdict run(const System& system, const TestOptions& options,
                    std::span<Time> bounds) const {
        const char* words = ignored(system, info.models);
        if (words == nullptr && options.priorities == "opa" && !info.assigns &&
            info.scheduler.find("-fp") != std::string::npos) {
            words = "Audsley's assignment is not for this test";
        }
        if (words == nullptr && options.supply_budget > 0 && !info.reserved) {
            words = "it ignores the reservation";
        }
        if (words != nullptr) {
            return {TestAnswer::not_applicable, words};
        }
        if (options.partition == "any" && info.scheduler.starts_with("p-")) {
            TestOptions placing = options;
            return best_placement(test, system, placing, bounds);
        }
        return test(system, options, bounds);
    }
};

// What keeps a job of `task` from its end: `amount` of the time of `other`, at most.
enum class ShareKind : std::int64_t {
    local = 0,     // as urgent, on its processor
    boost = 1,     // less urgent there, in sections that more urgent tasks wait for
    held = 2,      // in a section when the job asks for `lock`
    handed = 3,    // in sections at hand-overs
    outranks = 4,  // as urgent as the holder, on the holder's processor
};
struct Share {
    std::int64_t task;
    ShareKind kind;
    std::int64_t other, lock;
    Time amount;
};
// Of the bounds of pinned-fifo-pi; where one passes its deadline, as they are then.
std::vector<Share> pinned_shares(const System& system, TestOptions options);

const std::vector<TestEntry>& schedulability_tests();  // by cost, then name
const TestEntry* find_test(const std::string& name);

// A positive fraction; 0 / 1: unknown.
struct Scale {
    Time numerator = 0, denominator = 1;
};
// The largest factor on all C that keeps all deadlines on one processor, under EDF or the fixed
// priorities of `options`; unknown where tasks do more than compute, are too many or too large.
Scale largest_scale(const System& system, const TestOptions& options, bool edf);

// Tasks by fixed priority, most urgent first; with priorities "opa" on one processor an order in
// which all meet their deadlines. Empty: there is none, or the rule is unknown.
std::vector<std::int32_t> order_of_priorities(const System& system, const TestOptions& options);

// At namespace scope of a test's file: const TestRegistrar registrar({...}, run);
struct TestRegistrar {
    TestRegistrar(TestInfo info, TestFunction run);
};

}  // namespace deadbeat::sched
