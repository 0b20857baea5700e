// fpEDF: of the m-1 tasks of the highest utilisation those above 1/2 come first, the others by EDF.
#include "deadbeat/sched/ties.hpp"
#include "priority.hpp"

namespace deadbeat::sched::fpedf {

namespace {

std::string mark_heavy(const Context& context, std::vector<char>& heavy) {
    const auto& tasks = context.system.tasks;
    std::vector<std::int32_t> order(tasks.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, [&](std::int32_t a, std::int32_t b) {
        const int shares = compare_share(tasks[at(a)], tasks[at(b)]);
        return shares != 0 ? shares > 0 : context.rank[at(a)] < context.rank[at(b)];
    });
    const auto most = std::min(order.size(), at(context.system.processors - 1));
    for (std::size_t i = 0; i < most; i++) {
        const Task& task = tasks[at(order[i])];
        heavy[at(order[i])] = task.wcet > task.period - task.wcet;
    }
    return "";
}

const PolicyRegistrar registrar({.name = "fpedf",
                                 .title = "fpEDF",
                                 .reference = "Baruah, IEEE Transactions on Computers 53(6), 2004",
                                 .memoryless = true,
                                 .predictable = true,
                                 .predictable_reason = kFixedJobPriorities},
                                make<Ranked<HeavyFirstKeys<mark_heavy>, Scope::global>>);

}  // namespace

}  // namespace deadbeat::sched::fpedf
