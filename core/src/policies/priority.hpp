// Shared by policies that run the jobs with the smallest keys in each cluster.
#pragma once

#include <algorithm>
#include <compare>
#include <utility>
#include <vector>

#include "deadbeat/sched/policy.hpp"

namespace deadbeat::sched {

// Smaller is more urgent; the rank under the tie rule decides between equal ones.
struct Key {
    std::int64_t major;
    std::int64_t minor;
    auto operator<=>(const Key&) const = default;
};

// Appends the `capacity` ready tasks of `members` with the smallest keys, most urgent first.
template <class KeyOf>
void choose_most_urgent(const std::vector<TaskState>& states,
                        const std::vector<std::int32_t>& members, std::int32_t first,
                        std::int32_t capacity, KeyOf key_of, std::vector<Choice>& choices) {
    thread_local std::vector<std::pair<Key, std::int32_t>> ready;
    ready.clear();
    for (const std::int32_t task : members) {
        if (states[static_cast<std::size_t>(task)].ready()) {
            ready.emplace_back(key_of(task), task);
        }
    }
    const auto count = std::min(ready.size(), static_cast<std::size_t>(capacity));
    std::ranges::partial_sort(ready, ready.begin() + static_cast<std::ptrdiff_t>(count));
    for (std::size_t i = 0; i < count; i++) {
        choices.push_back({ready[i].second, first, capacity, 0});
    }
}

inline std::vector<std::int32_t> all_tasks(const System& system) {
    std::vector<std::int32_t> tasks(system.tasks.size());
    for (std::size_t i = 0; i < tasks.size(); i++) {
        tasks[i] = static_cast<std::int32_t>(i);
    }
    return tasks;
}

}  // namespace deadbeat::sched
