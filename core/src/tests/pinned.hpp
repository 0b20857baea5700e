// What the bounds of tasks that are bound to processors and share locks have in common.
#pragma once

#include <limits>
#include <string>

#include "../fixed_priority.hpp"
#include "deadbeat/sched/partition.hpp"
#include "shared.hpp"

namespace deadbeat::sched::pinned {

// Tasks with their processors and sections; larger `urgency` is more urgent.
struct Tasks {
    const System& system;
    std::vector<std::int64_t> urgency;
    std::vector<std::int32_t> home;
    std::vector<std::vector<Section>> sections;  // of each, the longest first
    std::int64_t locks = 0;
    const char* refusal = nullptr;  // why there are none

    Tasks(const System& of, const TestOptions& options) : system(of), sections(of.tasks.size()) {
        const auto levels = priority_levels(system, options.priorities);
        if (!levels) {
            refusal = "unknown priorities";
            return;
        }
        for (const std::int64_t level : *levels) {
            urgency.push_back(~level);
        }
        Options placing;
        placing.policy = "p-fp";
        placing.partition = options.partition;
        placing.order = options.order;
        placing.admission = options.admission;
        placing.priorities = options.priorities;
        placing.ties = options.ties;
        Partition placed = place(system, placing, system.processors, 1, true);
        if (!placed.refusal.empty() || placed.first_unplaced >= 0) {
            refusal = "the tasks find no place";
        }
        home = std::move(placed.cluster);
        for (const Section& section : system.sections) {
            sections[at(section.task)].push_back(section);
            locks = std::max(locks, section.lock + 1);
        }
        for (auto& mine : sections) {
            std::ranges::sort(mine, std::greater(), &Section::length);
        }
    }

    std::size_t size() const { return system.tasks.size(); }
    bool here(std::size_t a, std::size_t b) const { return home[a] == home[b]; }
    // Ranks at or above: of equal priorities each may run before the other.
    bool above(std::size_t a, std::size_t b) const { return urgency[a] >= urgency[b]; }
};

// The response of i with `blocking`, by response times so far: a more urgent task of its processor
// that waits elsewhere (`waits`) has its waiting as jitter, R - C (Chen et al., Real-Time Systems
// 55, 2019); one that spins executes as long (`spins`; empty: none).
inline std::optional<Time> respond(const Tasks& tasks, std::size_t i, Wide blocking,
                                   const std::vector<Time>& response,
                                   const std::vector<Wide>& waits, analysis::Steps& steps,
                                   const std::vector<Wide>& spins = {}) {
    const Task& mine = tasks.system.tasks[i];
    const auto spin = [&](std::size_t j) { return spins.empty() ? 0 : spins[j]; };
    const Wide fixed = mine.wcet + spin(i) + blocking;
    Wide x = std::max<Wide>(response[i], fixed);
    while (x <= mine.deadline && steps.spend(tasks.size())) {
        Wide next = fixed;
        for (std::size_t j = 0; j < tasks.size(); j++) {
            if (j != i && tasks.here(j, i) && tasks.above(j, i)) {
                const Task& other = tasks.system.tasks[j];
                const Time jitter = waits[j] > 0 ? response[j] - other.wcet : 0;
                const Time window = static_cast<Time>(x) + jitter;
                next += Wide{(window + other.period - 1) / other.period} * (other.wcet + spin(j));
            }
        }
        if (next <= x) {
            return static_cast<Time>(x);
        }
        x = next;
    }
    return std::nullopt;
}

// What `Bound`, made with `more`, says of tasks with D <= T that find a place.
template <class Bound, class... More>
TestVerdict bounded(const System& system, const TestOptions& options, std::span<Time> bounds,
                    More... more) {
    if (!constrained(system)) {
        return analysis::kNotConstrained;
    }
    const Tasks tasks(system, options);
    return tasks.refusal != nullptr ? analysis::not_accepted(tasks.refusal)
                                    : Bound(tasks, options, more...).run(bounds);
}

}  // namespace deadbeat::sched::pinned
