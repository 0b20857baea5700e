// Shared by policies that run the jobs with the smallest keys in each cluster.
#pragma once

#include <algorithm>
#include <compare>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "../fixed_priority.hpp"
#include "clusters.hpp"
#include "deadbeat/sched/policy.hpp"

namespace deadbeat::sched {

// Smaller is more urgent; the rank under the tie rule decides between equal ones.
struct Key {
    std::int64_t major;
    std::int64_t minor;
    auto operator<=>(const Key&) const = default;
};
// Before every other key.
inline constexpr std::int64_t kFirst = std::numeric_limits<std::int64_t>::min();

// The jobs with the smallest keys, kept sorted while they are offered; one buffer for all events.
template <class KeyType = Key>
class Selection {
  public:
    void clear(std::int32_t capacity) {
        best_.clear();
        capacity_ = at(capacity);
    }

    // Insertion: m and the number of ready jobs are small, or most jobs offered are turned away.
    void offer(const KeyType& key, std::int32_t task) {
        if (best_.size() == capacity_) {
            if (capacity_ == 0 || key >= best_.back().first) {
                return;
            }
            best_.pop_back();
        }
        auto place = best_.end();
        while (place != best_.begin() && key < (place - 1)->first) {
            --place;
        }
        best_.insert(place, {key, task});
    }

    void append(std::int32_t first, std::int32_t count, std::int32_t tier,
                std::vector<Choice>& choices) const {
        for (const auto& [key, task] : best_) {
            choices.push_back({task, first, count, tier});
        }
    }

    std::int32_t size() const { return static_cast<std::int32_t>(best_.size()); }
    const std::vector<std::pair<KeyType, std::int32_t>>& best() const { return best_; }

  private:
    std::vector<std::pair<KeyType, std::int32_t>> best_;
    std::size_t capacity_ = 0;
};

// The keys of EDF: the absolute deadline of the head job.
class DeadlineKeys {
  public:
    static constexpr bool fixed_priority = false;

    std::string prepare(const Context& context) {
        rank_ = context.rank;
        return "";
    }
    Key operator()(Time, const TaskState& state, std::int32_t task) const {
        return {state.deadline, rank_[at(task)]};
    }
    std::optional<std::int64_t> level(std::int32_t) const { return std::nullopt; }

  private:
    std::vector<std::int32_t> rank_;
};

// The keys of fixed priorities: rate monotonic, deadline monotonic or as given.
class LevelKeys {
  public:
    static constexpr bool fixed_priority = true;

    std::string prepare(const Context& context) {
        const auto levels = priority_levels(context.system, context.options->priorities);
        if (!levels) {
            return unknown_priorities(context.options->priorities);
        }
        for (std::size_t i = 0; i < levels->size(); i++) {
            keys_.push_back({(*levels)[i], context.rank[i]});
        }
        return "";
    }
    Key operator()(Time, const TaskState&, std::int32_t task) const { return keys_[at(task)]; }
    std::optional<std::int64_t> level(std::int32_t task) const { return keys_[at(task)].major; }

  private:
    std::vector<Key> keys_;
};

// EDF, but the tasks that `mark` marks (std::string mark(context, marks)) come before all others,
// among themselves by rank.
template <auto mark>
class HeavyFirstKeys {
  public:
    static constexpr bool fixed_priority = false;

    std::string prepare(const Context& context) {
        rank_ = context.rank;
        heavy_.assign(rank_.size(), 0);
        return mark(context, heavy_);
    }
    Key operator()(Time, const TaskState& state, std::int32_t task) const {
        return {heavy_[at(task)] != 0 ? kFirst : state.deadline, rank_[at(task)]};
    }
    std::optional<std::int64_t> level(std::int32_t task) const {
        return heavy_[at(task)] != 0 ? std::optional(kFirst) : std::nullopt;
    }

  private:
    std::vector<std::int32_t> rank_;
    std::vector<char> heavy_;
};

// In every cluster the ready jobs with the smallest keys run; where not preemptive, after those
// that run already.
template <class Keys, Scope scope, bool preemptive = true>
class Ranked final : public Policy {
  public:
    std::string prepare(const Context& context) override {
        std::string refusal = keys_.prepare(context);
        return refusal.empty() ? clusters_.prepare(context, scope, Keys::fixed_priority)
                               : std::move(refusal);
    }

    void choose(Time now, const std::vector<TaskState>& states,
                std::vector<Choice>& choices) override {
        for (std::int32_t k = 0; k < clusters_.count(); k++) {
            selection_.clear(clusters_.size());
            for (const std::int32_t task : clusters_.members(k)) {
                const TaskState& state = states[at(task)];
                if (state.ready()) {
                    selection_.offer(key_of(now, state, task), task);
                }
            }
            selection_.append(clusters_.first(k), clusters_.size(), 0, choices);
        }
    }

    // Where keys change with time alone, they say when.
    Time next_decision(Time now, const std::vector<TaskState>& states) override {
        if constexpr (requires { keys_.next_decision(now, states); }) {
            return keys_.next_decision(now, states);
        }
        return kNever;
    }

    std::int32_t cluster_of(std::int32_t processor) const override {
        return processor / clusters_.size();
    }
    std::vector<std::int32_t> placed() const override { return clusters_.placed(); }
    std::vector<std::string> remarks() const override { return clusters_.remarks(); }

    std::optional<JobOrder> order() const override {
        if constexpr (preemptive && requires { keys_.level(0); }) {
            JobOrder order = clusters_.order();
            for (std::size_t i = 0; i < order.level.size(); i++) {
                order.level[i] = keys_.level(static_cast<std::int32_t>(i));
            }
            return order;
        }
        return std::nullopt;
    }

  private:
    Key key_of(Time now, const TaskState& state, std::int32_t task) const {
        if constexpr (!preemptive) {
            if (state.processor >= 0) {
                return {kFirst, task};
            }
        }
        return keys_(now, state, task);
    }

    Keys keys_;
    Clusters clusters_;
    Selection<> selection_;
};

inline constexpr const char* kNotPreemptive =
    "a job that ends early can let a longer, less urgent one start before a more urgent release "
    "(anomalies: Graham, SIAM Journal on Applied Mathematics 17(2), 1969)";
// Ha and Liu's jobs are independent; with D > T a job waits for its predecessor. It still holds if
// the priorities of a task's jobs do not rise. Take the k jobs of highest priority in two
// schedules, some jobs shorter in the second; R(i, k) is what task i still has to do of them.
// Claim: the second R is never above the first. Suppose it first fails for (i, k) after instant t.
// Then both are equal and positive at t, and i runs in the first schedule only. In the second its
// oldest job waits, so m tasks have oldest jobs of higher priority; by the claim at t each of these
// has that job or an earlier one unfinished in the first schedule too, so i does not run there
// either. A contradiction.
inline constexpr const char* kFixedJobPriorities =
    "preemptive, a job's priority does not change, identical processors: Ha and Liu, ICDCS 1994; "
    "holds with backlog, as a task's later jobs are never more urgent";

}  // namespace deadbeat::sched
