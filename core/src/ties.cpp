#include "deadbeat/sched/ties.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace deadbeat::sched {

namespace {

// Negative: a before b. Ties within a rule go to the lower index, by a stable sort.
using Order = int (*)(const Task& a, const Task& b);

int compare(Time a, Time b) { return a < b ? -1 : (a > b ? 1 : 0); }

const std::vector<std::pair<std::string, Order>>& rules() {
    static const std::vector<std::pair<std::string, Order>> all = {
        {"index", [](const Task&, const Task&) { return 0; }},
        {"reverse", nullptr},
        {"period-asc", [](const Task& a, const Task& b) { return compare(a.period, b.period); }},
        {"period-desc", [](const Task& a, const Task& b) { return compare(b.period, a.period); }},
        {"utilisation-asc", [](const Task& a, const Task& b) { return compare_share(a, b); }},
        {"utilisation-desc", [](const Task& a, const Task& b) { return compare_share(b, a); }},
        {"wcet-asc", [](const Task& a, const Task& b) { return compare(a.wcet, b.wcet); }},
        {"wcet-desc", [](const Task& a, const Task& b) { return compare(b.wcet, a.wcet); }},
    };
    return all;
}

}  // namespace

const std::vector<std::string>& tie_rules() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> list;
        for (const auto& rule : rules()) {
            list.push_back(rule.first);
        }
        return list;
    }();
    return names;
}

std::vector<std::int32_t> tie_rank(const System& system, const std::string& rule) {
    const auto found =
        std::ranges::find_if(rules(), [&](const auto& entry) { return entry.first == rule; });
    if (found == rules().end()) {
        return {};
    }
    std::vector<std::int32_t> order(system.tasks.size());
    std::iota(order.begin(), order.end(), 0);
    if (found->second == nullptr) {
        std::ranges::reverse(order);
    } else {
        std::ranges::stable_sort(order, [&](std::int32_t a, std::int32_t b) {
            return found->second(system.tasks[static_cast<std::size_t>(a)],
                                 system.tasks[static_cast<std::size_t>(b)]) < 0;
        });
    }
    std::vector<std::int32_t> rank(order.size());
    for (std::size_t place = 0; place < order.size(); place++) {
        rank[static_cast<std::size_t>(order[place])] = static_cast<std::int32_t>(place);
    }
    return rank;
}

}  // namespace deadbeat::sched
