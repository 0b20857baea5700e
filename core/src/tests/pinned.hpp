// What the bounds of tasks that are bound to processors and share locks have in common.
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <memory_resource>
#include <string>
#include <utility>

#include "../fixed_priority.hpp"
#include "deadbeat/sched/partition.hpp"
#include "shared.hpp"

namespace deadbeat::sched::pinned {

// All that is built for one system, and freed with it.
using Arena = std::pmr::memory_resource;
template <class T>
using Vector = std::pmr::vector<T>;
template <class T>
using Rows = Vector<std::span<const T>>;

// Of a job for one lock.
struct Requests {
    std::int64_t lock;
    Wide count;
};

// Tasks with their processors and sections; larger `urgency` is more urgent.
class Tasks {
    std::array<std::byte, 1 << 14> room_;
    mutable std::pmr::monotonic_buffer_resource arena_{room_.data(), room_.size()};

  public:
    Tasks(const Tasks&) = delete;  // its spans are of its own
    Tasks& operator=(const Tasks&) = delete;

    Arena* const arena = &arena_;
    const System& system;
    Vector<std::int64_t> urgency{arena};
    Vector<std::int32_t> home{arena};
    Rows<Section> sections{arena};  // of each, the longest first
    Rows<std::size_t> on{arena};    // each processor, the most urgent first
    std::int64_t locks = 0;
    const char* refusal = nullptr;  // why there are none

    Tasks(const System& of, const TestOptions& options) : system(of) {
        const auto levels = priority_levels(system, options.priorities);
        if (!levels) {
            refusal = "unknown priorities";
            return;
        }
        bool placed = true;
        Vector<std::size_t> all(arena);
        urgency.reserve(size());
        home.reserve(size());
        all.reserve(size());
        for (std::size_t i = 0; i < size(); i++) {
            all.push_back(i);
            urgency.push_back(~(*levels)[i]);
            home.push_back(static_cast<std::int32_t>(system.tasks[i].home));
            placed = placed && home[i] >= 0 && home[i] < system.processors;
        }
        if (!placed) {
            find_homes(options);
        }
        if (refusal != nullptr) {
            return;
        }
        for (const Section& section : system.sections) {
            locks = std::max(locks, section.lock + 1);
        }
        sections = rows(
            system.sections, size(), [](const Section& one) { return at(one.task); },
            [](const Section& a, const Section& b) {
                return a.length != b.length ? a.length > b.length : a.lock < b.lock;
            });
        on = rows(
            std::span<const std::size_t>(all), at(system.processors),
            [this](std::size_t i) { return at(home[i]); },
            [this](std::size_t a, std::size_t b) {
                return urgency[a] != urgency[b] ? urgency[a] > urgency[b] : a < b;
            });
    }

    std::size_t size() const { return system.tasks.size(); }
    bool here(std::size_t a, std::size_t b) const { return home[a] == home[b]; }
    // Ranks at or above: of equal priorities each may run before the other.
    bool above(std::size_t a, std::size_t b) const { return urgency[a] >= urgency[b]; }

    Vector<Time> wcets() const {
        Vector<Time> found(size(), arena);
        std::ranges::transform(system.tasks, found.begin(), &Task::wcet);
        return found;
    }

    // Sections on each lock, by processor, the longest first.
    Rows<Section> users() const {
        return rows(
            system.sections, at(locks), [](const Section& one) { return at(one.lock); },
            [this](const Section& a, const Section& b) {
                const std::int32_t mine = home[at(a.task)], other = home[at(b.task)];
                return mine != other ? mine < other : a.length > b.length;
            });
    }

    // The most urgent user of each lock.
    Vector<std::int64_t> ceilings() const {
        Vector<std::int64_t> found(at(locks), std::numeric_limits<std::int64_t>::min(), arena);
        for (const Section& section : system.sections) {
            std::int64_t& its = found[at(section.lock)];
            its = std::max(its, urgency[at(section.task)]);
        }
        return found;
    }

    // Of each task.
    Rows<Requests> requests() const {
        Rows<Requests> found(size(), arena);
        Requests* last = room<Requests>(system.sections.size());
        for (std::size_t i = 0; i < size(); i++) {
            Requests* const first = last;
            for (const Section& section : sections[i]) {
                Requests* const its = std::ranges::find(first, last, section.lock, &Requests::lock);
                if (its == last) {
                    *last++ = {section.lock, 0};
                }
                its->count += section.count;
            }
            found[i] = {first, last};
        }
        return found;
    }

    // Each value in the row that `key` names, sorted.
    template <class T, class Key, class Before>
    Rows<T> rows(std::span<const T> values, std::size_t count, Key key, Before before) const {
        Rows<T> found(count, arena);
        Vector<std::size_t> ends(count + 1, arena), keys(arena);
        keys.reserve(values.size());
        for (const T& value : values) {
            ends[keys.emplace_back(key(value)) + 1]++;
        }
        for (std::size_t row = 0; row < count; row++) {
            ends[row + 1] += ends[row];
        }
        T* const flat = room<T>(values.size());
        for (std::size_t i = 0; i < values.size(); i++) {
            flat[ends[keys[i]]++] = values[i];
        }
        for (std::size_t row = 0, first = 0; row < count; first = ends[row++]) {
            std::sort(flat + first, flat + ends[row], before);
            found[row] = {flat + first, flat + ends[row]};
        }
        return found;
    }

  private:
    template <class T>
    T* room(std::size_t count) const {
        return std::pmr::polymorphic_allocator<T>(arena).allocate(count);
    }

    void find_homes(const TestOptions& options) {
        Options placing;
        placing.policy = "p-fp";
        placing.partition = options.partition;
        placing.order = options.order;
        placing.admission = options.admission;
        placing.priorities = options.priorities;
        placing.ties = options.ties;
        const Partition placed = place(system, placing, system.processors, 1, true);
        if (!placed.refusal.empty() || placed.first_unplaced >= 0) {
            refusal = "the tasks find no place";
        }
        home.assign(placed.cluster.begin(), placed.cluster.end());
    }
};

// What keeps a job besides more urgent ones of its processor: less urgent ones and, for tasks that
// suspend, others elsewhere (`blocking`), of which it waits elsewhere; what it spins.
struct Delay {
    Wide blocking = 0, waits = 0, spins = 0;
};

// What of a task is to be looked at again.
using Due = Vector<int>;
inline constexpr int kResponse = 1, kDelay = 2;

// The least joint fixed point of all responses, by what delays each, `delay(i)`, of the responses
// so far (`response`, which begins with C); `mark(i, due)` says whose delay that of i makes more.
// A more urgent task of the processor that waits elsewhere has its waiting as jitter, R - C
// (Chen et al., Real-Time Systems 55, 2019); one that spins executes as long. No delay falls where
// a response grows.
template <class DelayOf, class Mark>
TestVerdict least(const Tasks& tasks, Vector<Time>& response, std::span<Time> bounds,
                  analysis::Steps& steps, DelayOf delay, Mark mark) {
    struct Local {
        Time period, cost, jitter;  // the cost with what it spins
        Delay delay;
    };
    Vector<Local> locals(tasks.arena);  // by processor, the most urgent first
    locals.reserve(tasks.size());
    for (const std::span<const std::size_t> on : tasks.on) {
        for (const std::size_t i : on) {
            locals.push_back({tasks.system.tasks[i].period, response[i], 0, {}});
        }
    }
    Due due(tasks.size(), kResponse, tasks.arena);  // first those without any delay
    for (bool begins = true, again = true; again; begins = false) {
        again = begins;
        Local* first = locals.data();
        for (const std::span<const std::size_t> on : tasks.on) {
            for (std::size_t place = 0; place < on.size(); place++) {
                const std::size_t i = on[place];
                if (due[i] == 0) {
                    continue;
                }
                again = true;
                const Task& task = tasks.system.tasks[i];
                Local& mine = first[place];
                Wide x = response[i];
                bool shows = false;
                if ((due[i] & kDelay) != 0) {
                    const Delay found = delay(i), before = std::exchange(mine.delay, found);
                    shows = (found.waits > 0) != (before.waits > 0) || found.spins != before.spins;
                    x += found.blocking + found.spins - before.blocking - before.spins;
                }
                due[i] = 0;
                std::size_t last = place + 1;
                while (last < on.size() && tasks.above(on[last], i)) {
                    last++;
                }
                const std::span<const Local> ahead(first, last);
                mine.cost = 0;
                for (const Local& its : begins ? ahead : ahead.first(0)) {
                    x += its.cost;
                }
                const Wide fixed = task.wcet + mine.delay.spins + mine.delay.blocking;
                for (;;) {
                    if (x > task.deadline) {
                        return analysis::kTooLong;
                    }
                    if (!steps.spend(last)) {
                        return analysis::kBudget;
                    }
                    Wide next = fixed;
                    for (const Local& its : ahead) {
                        const Time window = static_cast<Time>(x) + its.jitter;
                        next += Wide{(window + its.period - 1) / its.period} * its.cost;
                    }
                    if (next <= x) {
                        break;
                    }
                    x = next;
                }
                mine.cost = static_cast<Time>(task.wcet + mine.delay.spins);
                const bool grows = x != response[i];
                response[i] = static_cast<Time>(x);
                if (begins || (!shows && !grows)) {
                    continue;
                }
                mine.jitter = mine.delay.waits > 0 ? response[i] - task.wcet : 0;
                for (std::size_t other = 0; (shows || mine.delay.waits > 0) && other < on.size();
                     other++) {
                    const std::size_t j = on[other];
                    due[j] |= j != i && tasks.above(i, j) ? kResponse : 0;
                }
                if (grows) {
                    mark(i, due);
                }
            }
            first += on.size();
        }
        if (begins) {
            std::ranges::fill(due, kDelay);
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
    Jobs(const Tasks& tasks, const Vector<Time>& response, bool wanted = true)
        : tasks_(tasks.system.tasks),
          response_(response),
          kept_(wanted && tasks.size() < 512),
          known_(kept_ ? tasks.size() * tasks.size() : 0, tasks.arena) {}

    // 0 of the task itself.
    Time of(std::size_t i, std::size_t j) {
        const Time window = response_[i] + response_[j], period = tasks_[j].period;
        if (i == j || !kept_) {
            return i == j ? 0 : (window + period - 1) / period;
        }
        Known& known = known_[i * tasks_.size() + j];
        if (window > known.most) {
            known.count = (window + period - 1) / period;
            known.most = known.count * period;
        }
        return known.count;
    }

    // Those for whom there are more than `of` last said, as the response of i has grown.
    void mark(std::size_t i, Due& due) const {
        if (!kept_) {
            std::ranges::fill(due, kDelay);
            return;
        }
        const std::size_t n = tasks_.size();
        for (std::size_t j = 0; j < n; j++) {
            const Time window = response_[i] + response_[j];
            if (known_[j * n + i].stale(window)) {
                due[j] |= kDelay;
            }
            if (known_[i * n + j].stale(window)) {
                due[i] |= kDelay;
            }
        }
    }

  private:
    // Windows of up to `most` have so many; -1, the largest without a sign: not asked.
    struct Known {
        Time count = 0, most = -1;
        bool stale(Time window) const { return at(window) > at(most); }
    };

    std::span<const Task> tasks_;
    const Vector<Time>& response_;
    bool kept_;
    Vector<Known> known_;  // of pairs
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
