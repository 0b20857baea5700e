// Tie rules: a total, static order of the tasks that decides between equal priorities.
#pragma once

#include <string>
#include <vector>

#include "deadbeat/sched/system.hpp"

namespace deadbeat::sched {

// index, reverse, period-asc, period-desc, utilisation-asc, utilisation-desc, wcet-asc, wcet-desc.
// `index` prefers the earlier task; the others fall back to it.
const std::vector<std::string>& tie_rules();

// rank[i]: place of task i under `rule`; lower wins. Empty when the rule is unknown.
std::vector<std::int32_t> tie_rank(const System& system, const std::string& rule);

// Sign of C_a/T_a - C_b/T_b, exact.
int compare_share(const Task& a, const Task& b);

}  // namespace deadbeat::sched
