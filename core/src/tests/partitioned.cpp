// Partitioned EDF and fixed priority: the tasks are placed as the policies p-edf and p-fp place
// them, then each processor is tested exactly.
//
// Accepted is what this placement schedules; refuted only what no placement does (that keeps the
// homes and affinity sets of tasks), which a search decides. Blocking, if any, is that of every
// processor.
#include "deadbeat/sched/partition.hpp"
#include "shared.hpp"

namespace deadbeat::sched::partitioned {

namespace {

using namespace analysis;

// Of the budget, what the search for another placement may take: at most some 10 ms by default.
constexpr std::int64_t kSearchShare = 100;

// Blocking is left out of the search: a section need not delay anyone.
TestVerdict this_placement_fails(const System& system, const TestOptions& options,
                                 const Options& placing, bool fixed_priority) {
    if (compare_utilisation(system, system.processors) > 0) {
        return refuted("utilisation above the processors");
    }
    const auto found = placeable(system, placing, fixed_priority, options.budget / kSearchShare);
    if (!found || (*found && options.blocking > 0)) {
        return not_accepted("this placement fails; whether another does is not known");
    }
    return *found ? not_accepted(kAnotherMeets.data()) : refuted("every placement fails");
}

TestVerdict test(const System& system, const TestOptions& options, std::span<Time> bounds,
                 bool fixed_priority) {
    Options placing;
    placing.policy = fixed_priority ? "p-fp" : "p-edf";
    placing.partition = options.partition;
    placing.order = options.order;
    placing.admission = options.admission;
    placing.priorities = options.priorities;
    placing.ties = options.ties;
    if (fixed_priority && priority_order(system, options).empty()) {
        return kUnknownOrder;
    }
    const Partition partition = place(system, placing, system.processors, 1, fixed_priority);
    if (!partition.refusal.empty()) {
        return undecided(
            "the tasks cannot be placed: an unknown option, a home that is not there, "
            "or numbers out of reach");
    }
    if (partition.first_unplaced >= 0) {
        return this_placement_fails(system, options, placing, fixed_priority);
    }
    TestVerdict all = kAccepted;
    for (std::int32_t p = 0; p < system.processors; p++) {
        std::vector<std::int32_t> members;
        for (std::size_t i = 0; i < partition.cluster.size(); i++) {
            if (partition.cluster[i] == p) {
                members.push_back(static_cast<std::int32_t>(i));
            }
        }
        if (members.empty()) {
            continue;
        }
        // Ties by the rule among all tasks: it compares tasks, or their order, which stays.
        const TestVerdict found =
            Subsystem(system, members, 1).run(fixed_priority ? uni_rta : qpa, options, bounds);
        if (found.answer == TestAnswer::refuted) {
            return this_placement_fails(system, options, placing, fixed_priority);
        }
        if (found.answer != TestAnswer::accepted) {
            all = found;
        }
    }
    return all;
}

TestVerdict p_edf(const System& system, const TestOptions& options, std::span<Time> bounds) {
    return test(system, options, bounds, false);
}

TestVerdict p_fp(const System& system, const TestOptions& options, std::span<Time> bounds) {
    return test(system, options, bounds, true);
}

constexpr const char* kPlacing = "Dhall and Liu, Operations Research 26(1), 1978; each processor: ";

const TestRegistrar registrar_edf({.name = "p-edf",
                                   .title = "Partitioned EDF, each processor by QPA",
                                   .reference = std::string(kPlacing) + "Zhang and Burns, 2009",
                                   .scheduler = "p-edf",
                                   .model = "sporadic",
                                   .ties = "any",
                                   .deadlines = "arbitrary",
                                   .kind = TestKind::exact,
                                   .cost = 14,
                                   .models = kAffinity},
                                  p_edf);

const TestRegistrar registrar_fp(
    {.name = "p-fp",
     .title = "Partitioned fixed priority, each processor by response times",
     .reference = std::string(kPlacing) + "Joseph and Pandya, 1986; Lehoczky, 1990",
     .scheduler = "p-fp",
     .model = "sporadic",
     .ties = "given",
     .deadlines = "arbitrary",
     .kind = TestKind::exact,
     .cost = 14,
     .models = kAffinity},
    p_fp);

}  // namespace

}  // namespace deadbeat::sched::partitioned
