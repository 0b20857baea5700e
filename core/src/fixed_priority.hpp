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
    std::vector<std::int64_t> levels;
    for (const Task& task : system.tasks) {
        if (rule == "rm") {
            levels.push_back(task.period);
        } else if (rule == "dm") {
            levels.push_back(task.deadline);
        } else if (rule == "given") {
            levels.push_back(~task.priority);  // falls as the priority rises; cannot overflow
        } else {
            return std::nullopt;
        }
    }
    return levels;
}

inline std::string unknown_priorities(const std::string& rule) {
    return "there are no priorities \"" + rule + "\" (rm, dm, given)";
}

}  // namespace deadbeat::sched
