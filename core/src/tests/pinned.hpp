// What the bounds of tasks that are bound to processors and share locks have in common.
#pragma once

#include <limits>
#include <string>
#include <tuple>

#include "../fixed_priority.hpp"
#include "deadbeat/sched/partition.hpp"
#include "shared.hpp"

namespace deadbeat::sched::pinned {

// Tasks with their processors and sections; larger `urgency` is more urgent.
struct Tasks {
    Tasks(const Tasks&) = delete;  // its spans are of its own
    Tasks& operator=(const Tasks&) = delete;

    const System& system;
    std::vector<std::int64_t> urgency;
    std::vector<std::int32_t> home;
    std::vector<std::span<const Section>> sections;  // of each, the longest first
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
        for (const Task& task : system.tasks) {
            home.push_back(static_cast<std::int32_t>(task.home));
        }
        if (std::ranges::any_of(home,
                                [&](std::int32_t k) { return k < 0 || k >= of.processors; })) {
            find_homes(options);
        }
        flat_.assign(system.sections.begin(), system.sections.end());
        std::ranges::sort(flat_, [](const Section& a, const Section& b) {
            return std::tuple(a.task, -a.length, a.lock) < std::tuple(b.task, -b.length, b.lock);
        });
        for (std::size_t first = 0, last = 0; first < flat_.size(); first = last) {
            const std::int64_t task = flat_[first].task;
            while (last < flat_.size() && flat_[last].task == task) {
                locks = std::max(locks, flat_[last++].lock + 1);
            }
            sections[at(task)] = std::span(flat_).subspan(first, last - first);
        }
    }

    void find_homes(const TestOptions& options) {
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
    }

    std::size_t size() const { return system.tasks.size(); }
    bool here(std::size_t a, std::size_t b) const { return home[a] == home[b]; }
    // Ranks at or above: of equal priorities each may run before the other.
    bool above(std::size_t a, std::size_t b) const { return urgency[a] >= urgency[b]; }

  private:
    std::vector<Section> flat_;
};

// What keeps a job besides more urgent ones of its processor: less urgent ones and, for tasks that
// suspend, others elsewhere (`blocking`), of which it waits elsewhere; what it spins.
struct Delay {
    Wide blocking = 0, waits = 0, spins = 0;
};

// The least joint fixed point of all responses, by what delays each, `delay(i)`, of the responses
// so far (`response`, which begins with C), until `stale(i, j)`: the responses of i and j make it
// more. A more urgent task of the processor that waits elsewhere has its waiting as jitter, R - C
// (Chen et al., Real-Time Systems 55, 2019); one that spins executes as long. No delay falls where
// a response grows.
template <class DelayOf, class Mark>
TestVerdict least(const Tasks& tasks, std::vector<Time>& response, std::span<Time> bounds,
                  analysis::Steps& steps, DelayOf delay, Mark mark) {
    struct Local {
        std::size_t task;
        Time period, wcet;
        Delay delay;
    };
    const std::span<const Task> all = tasks.system.tasks;
    std::vector<Local> order;  // by processor, the most urgent first
    order.reserve(all.size());
    for (std::size_t i = 0; i < all.size(); i++) {
        order.push_back({i, all[i].period, all[i].wcet, {}});
    }
    std::ranges::sort(order, [&](const Local& a, const Local& b) {
        return std::pair(tasks.home[a.task], -tasks.urgency[a.task]) <
               std::pair(tasks.home[b.task], -tasks.urgency[b.task]);
    });
    std::vector<char> due(all.size(), 1);  // to be looked at again
    for (bool again = true; again;) {
        again = false;
        for (std::size_t first = 0, place = 0; place < order.size(); place++) {
            Local& mine = order[place];
            const std::size_t i = mine.task;
            first = tasks.here(order[first].task, i) ? first : place;
            if (due[i] == 0) {
                continue;
            }
            again = true;
            due[i] = 0;
            const Delay found = delay(i);
            const bool shows =
                (found.waits > 0) != (mine.delay.waits > 0) || found.spins != mine.delay.spins;
            mine.delay = found;
            std::size_t last = place + 1;
            while (last < order.size() && tasks.here(order[last].task, i) &&
                   tasks.above(order[last].task, i)) {
                last++;
            }
            const Wide fixed = mine.wcet + found.spins + found.blocking;
            Wide x = std::max<Wide>(response[i], fixed);
            for (;;) {
                if (x > all[i].deadline) {
                    return analysis::kTooLong;
                }
                if (!steps.spend(last - first)) {
                    return analysis::kBudget;
                }
                Wide next = fixed;
                for (std::size_t other = first; other < last; other++) {
                    const Local& its = order[other];
                    if (other != place) {
                        const Time jitter = its.delay.waits > 0 ? response[its.task] - its.wcet : 0;
                        const Time window = static_cast<Time>(x) + jitter;
                        next += Wide{(window + its.period - 1) / its.period} *
                                (its.wcet + its.delay.spins);
                    }
                }
                if (next <= x) {
                    break;
                }
                x = next;
            }
            if (!shows && x == response[i]) {
                continue;
            }
            response[i] = static_cast<Time>(x);
            for (std::size_t other = first; (shows || found.waits > 0) && other < order.size() &&
                                            tasks.here(order[other].task, i);
                 other++) {
                const std::size_t j = order[other].task;
                due[j] |= j != i && tasks.above(i, j);
            }
            mark(i, due);
        }
    }
    if (!bounds.empty()) {
        std::ranges::copy(response, bounds.begin());
    }
    return analysis::kAccepted;
}

// Jobs of every other task that are pending at some time while one of i is, by their responses:
// ceil((R_i + R_j) / T_j). Responses grow often, this seldom: it is kept.
class Jobs {
  public:
    Jobs(std::span<const Task> tasks, const std::vector<Time>& response)
        : tasks_(tasks), response_(response) {
        if (tasks.size() < 512) {
            count_.resize(tasks.size() * tasks.size());
            most_.resize(count_.size(), std::numeric_limits<Time>::max());
        }
    }

    // 0 of the task itself.
    Wide of(std::size_t i, std::size_t j) {
        const Time window = response_[i] + response_[j], period = tasks_[j].period;
        if (i == j || count_.empty()) {
            return i == j ? 0 : (window + period - 1) / period;
        }
        const std::size_t place = i * tasks_.size() + j;
        if (count_[place] == 0 || window > most_[place]) {
            count_[place] = (window + period - 1) / period;
            most_[place] = count_[place] * period;
        }
        return count_[place];
    }

    // Those for whom there are more than `of` last said, as the response of i has grown.
    void mark(std::size_t i, std::vector<char>& due) const {
        if (count_.empty()) {
            std::ranges::fill(due, 1);
            return;
        }
        const std::size_t n = tasks_.size();
        char mine = 0;
        for (std::size_t j = 0; j < n; j++) {
            const Time window = response_[i] + response_[j];
            due[j] = static_cast<char>(due[j] | (window > most_[j * n + i]));
            mine = static_cast<char>(mine | (window > most_[i * n + j]));
        }
        due[i] = static_cast<char>(due[i] | mine);
    }

  private:
    std::span<const Task> tasks_;
    const std::vector<Time>& response_;
    // Of pairs: windows of up to `most_` have so many; 0: not asked.
    std::vector<Time> count_, most_;
};

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
