// Sporadic tasks under global EDF or fixed priorities: exactly, at whole instants, by exploration
// of every sequence of releases (sporadic_states.cpp). For small systems, as what other tests are
// measured by.
#include "../sporadic_states.hpp"
#include "deadbeat/sched/ties.hpp"
#include "shared.hpp"

namespace deadbeat::sched::sporadic_exact {

namespace {

using namespace analysis;

constexpr std::int64_t kStateSteps = 100;  // of the budget

template <bool edf>
TestVerdict test(const System& system, const TestOptions& options, std::span<Time>) {
    if (!constrained(system)) {
        return kNotConstrained;
    }
    if (options.blocking > 0) {
        return not_applicable("tasks may be blocked");
    }
    const std::size_t n = system.tasks.size();
    SporadicGlobal global{.processors = system.processors,
                          .tasks = {system.tasks.begin(), system.tasks.end()},
                          .levels = std::vector<std::optional<std::int64_t>>(n),
                          .rank = tie_rank(system, options.ties)};
    const auto order = edf ? std::vector<std::int32_t>() : priority_order(system, options);
    if (global.rank.empty() || (!edf && order.empty())) {
        return kUnknownOrder;
    }
    for (std::size_t place = 0; place < order.size(); place++) {
        global.levels[at(order[place])] = static_cast<std::int64_t>(place);
    }
    if (!fits_deadlines(system.tasks)) {
        return refuted("a task needs more time than its deadline leaves");
    }
    std::int64_t used = 0;
    switch (explore(global, options.budget / kStateSteps, used).found) {
        case Exploration::Found::no_miss:
            return kAccepted;
        case Exploration::Found::miss:
            return refuted("some releases miss");
        case Exploration::Found::too_large:
            return undecided("more than 16 tasks, or times too large: not explored");
        case Exploration::Found::budget:
            break;
    }
    return kBudget;
}

TestInfo info(const char* name, const char* title, const char* scheduler) {
    return {.name = name,
            .title = title,
            .reference =
                "Baker and Cirinei, OPODIS 2007; Geeraerts, Goossens and Lindstrom, "
                "Real-Time Systems 49, 2013",
            .scheduler = scheduler,
            .model = "sporadic",
            .ties = "given",
            .deadlines = "constrained",
            .kind = TestKind::exact,
            .cost = kAskedOnly,
            .whole_instants = true};
}

const TestRegistrar registrar_fp(info("sporadic-fp", "Global fixed priorities, all releases",
                                      "g-fp"),
                                 test<false>);
const TestRegistrar registrar_edf(info("sporadic-edf", "Global EDF, all releases", "g-edf"),
                                  test<true>);

}  // namespace

}  // namespace deadbeat::sched::sporadic_exact
