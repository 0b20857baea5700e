// Fixed priorities of tasks, as options.priorities names them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "deadbeat/sched/system.hpp"

namespace deadbeat::sched {

// Level of every task: smaller is more urgent, equal ones are ties. Nothing for an unknown rule.
inline std::optional<std::vector<std::int64_t>> priority_levels(const System& system,
                                                                const std::string& rule) {
    const auto field = rule == "rm"      ? &Task::period
                       : rule == "dm"    ? &Task::deadline
                       : rule == "given" ? &Task::priority
                                         : nullptr;
    if (field == nullptr) {
        return std::nullopt;
    }
    std::vector<std::int64_t> levels(system.tasks.size());
    std::ranges::transform(system.tasks, levels.begin(), field);
    for (std::int64_t& level : levels) {  // falls as a given priority rises; cannot overflow
        level = rule == "given" ? ~level : level;
    }
    return levels;
}

inline std::string unknown_priorities(const std::string& rule) {
    return "there are no priorities \"" + rule + "\" (rm, dm, given)";
}

}  // namespace deadbeat::sched
