#include "deadbeat/sched/partition.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>

#include "deadbeat/sched/policy.hpp"
#include "deadbeat/sched/ties.hpp"
#include "fixed_priority.hpp"
#include "shares.hpp"
#include "uniprocessor.hpp"

namespace deadbeat::sched {

namespace {

template <class List, class Value>
bool contains(const List& list, const Value& value) {
    return std::ranges::find(list, value) != list.end();
}

Time window(const Task& task) { return std::min(task.deadline, task.period); }

// a/b < c/d without rounding; all non-negative.
bool less(Time a, Time b, Time c, Time d) {
    return static_cast<Wide>(a) * d < static_cast<Wide>(c) * b;
}

using Before = bool (*)(const Task& a, const Task& b);

Before before_of(const std::string& order) {
    if (order == "utilisation-desc") {
        return
            [](const Task& a, const Task& b) { return less(b.wcet, b.period, a.wcet, a.period); };
    }
    if (order == "utilisation-asc") {
        return
            [](const Task& a, const Task& b) { return less(a.wcet, a.period, b.wcet, b.period); };
    }
    if (order == "density-desc") {
        return
            [](const Task& a, const Task& b) { return less(b.wcet, window(b), a.wcet, window(a)); };
    }
    if (order == "period-asc") {
        return [](const Task& a, const Task& b) { return a.period < b.period; };
    }
    if (order == "period-desc") {
        return [](const Task& a, const Task& b) { return a.period > b.period; };
    }
    if (order == "deadline-asc") {
        return [](const Task& a, const Task& b) { return a.deadline < b.deadline; };
    }
    return [](const Task&, const Task&) { return false; };  // file
}

std::string listed(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) {
        text += (text.empty() ? "" : ", ") + name;
    }
    return " (" + text + ")";
}

class Packing {
  public:
    Packing(const System& system, const Options& options, std::int32_t clusters,
            std::int32_t capacity, bool fixed_priority)
        : system_(system),
          options_(options),
          clusters_(clusters),
          capacity_(capacity),
          fixed_priority_(fixed_priority),
          heuristic_(heuristic_for(options.partition, capacity)),
          admission_(admission_for(options, capacity)) {}

    Partition run() {
        begin();
        if (partition_.refusal.empty()) {
            pack();
        }
        return std::move(partition_);
    }

    // What `search` found.
    Partition found() { return std::move(partition_); }

    // Depth first, the largest tasks first. Where no task has an affinity set, one of the
    // processors that are still empty stands for all, and of two equal tasks the later one never
    // goes to the lower processor.
    std::optional<bool> search(std::int64_t steps) {
        begin();
        steps_ = steps;
        if (!partition_.refusal.empty()) {
            return std::nullopt;
        }
        const std::vector<std::int32_t> order = take_homes("utilisation-desc");
        Load whole;
        whole.add(1, 1);
        for (std::int32_t k = 0; k < clusters_; k++) {
            if (utilisation_[at(k)].compare(whole) > 0 || !fit_exactly(members_[at(k)])) {
                return undecided_ ? std::nullopt : std::optional(false);
            }
        }
        std::vector<std::int32_t> tried(order.size(), -1);
        for (std::size_t depth = 0; depth < order.size();) {
            const std::int32_t task = order[depth];
            if (tried[depth] >= 0) {
                untake(task, tried[depth]);
            }
            std::int32_t first = tried[depth] + 1;
            if (depth > 0 && alike(task, order[depth - 1])) {
                first = std::max(first, tried[depth - 1]);
            }
            tried[depth] = next_fitting(task, first);
            if (undecided_) {
                return std::nullopt;
            }
            if (tried[depth] >= 0) {
                take(task, tried[depth++]);
            } else if (depth-- == 0) {
                return false;
            }
        }
        return true;
    }

  private:
    void begin() {
        partition_.cluster.assign(system_.tasks.size(), -1);
        partition_.refusal = refuse();
        utilisation_.resize(at(clusters_));
        density_.resize(at(clusters_));
        members_.resize(at(clusters_));
    }

    // No schedule changes when they are exchanged: under fixed priorities no task ranks between.
    bool alike(std::int32_t a, std::int32_t b) const {
        const Task &one = system_.tasks[at(a)], &other = system_.tasks[at(b)];
        return symmetric_ && one.wcet == other.wcet && one.period == other.period &&
               one.deadline == other.deadline && one.priority == other.priority &&
               (!fixed_priority_ || std::abs(rank_[at(a)] - rank_[at(b)]) == 1);
    }

    std::int32_t next_fitting(std::int32_t task, std::int32_t first) {
        bool empty_seen = false;
        for (std::int32_t k = 0; k < clusters_ && !undecided_; k++) {
            const bool empty = members_[at(k)].empty();
            if (k >= first && !(symmetric_ && empty && empty_seen) && fits(task, k)) {
                return k;
            }
            empty_seen = empty_seen || empty;
            undecided_ = undecided_ || --steps_ <= 0;
        }
        return -1;
    }

    std::string refuse() {
        if (!contains(partition_heuristics(), options_.partition)) {
            return "there is no partitioning heuristic \"" + options_.partition + "\"" +
                   listed(partition_heuristics());
        }
        if (!contains(partition_orders(), options_.order)) {
            return "there is no order \"" + options_.order + "\" of placing tasks" +
                   listed(partition_orders());
        }
        if (!contains(partition_admissions(), options_.admission)) {
            return "there is no admission \"" + options_.admission + "\"" +
                   listed(partition_admissions());
        }
        if (options_.unplaced != "reject" && options_.unplaced != "least-loaded") {
            return "there is no rule \"" + options_.unplaced +
                   "\" for unplaced tasks (reject, least-loaded)";
        }
        for (std::size_t i = 0; i < system_.tasks.size(); i++) {
            if (system_.tasks[i].home >= clusters_) {
                return "task " + std::to_string(i) + " is bound to cluster " +
                       std::to_string(system_.tasks[i].home) + ", there are " +
                       std::to_string(clusters_);
            }
            if (system_.tasks[i].home >= 0 && !allowed(i, system_.tasks[i].home)) {
                return "task " + std::to_string(i) + " is bound to a cluster that is not for it";
            }
        }
        return admission_ == "exact" ? refuse_exact() : "";
    }

    // By its affinity set.
    bool allowed(std::size_t task, std::int64_t cluster) const {
        const auto cpus = details_of(system_, task, DetailKind::cpu);
        return cpus.empty() || std::ranges::find(cpus, cluster, &Detail::a) != cpus.end();
    }

    std::string refuse_exact() {
        if (capacity_ != 1) {
            return "exact admission needs clusters of one processor, these have " +
                   std::to_string(capacity_);
        }
        if (fixed_priority_) {
            const auto levels = priority_levels(system_, options_.priorities);
            if (!levels) {
                return unknown_priorities(options_.priorities);
            }
            levels_ = *levels;
            rank_ = tie_rank(system_, options_.ties);
        }
        return "";
    }

    // Puts the tasks that have a home there, and returns the others in this order.
    std::vector<std::int32_t> take_homes(const std::string& by) {
        std::vector<std::int32_t> order;
        for (std::size_t i = 0; i < system_.tasks.size(); i++) {
            const Task& task = system_.tasks[i];
            if (task.home >= 0) {
                take(static_cast<std::int32_t>(i), static_cast<std::int32_t>(task.home));
            } else {
                order.push_back(static_cast<std::int32_t>(i));
            }
        }
        const Before before = before_of(by);
        std::ranges::stable_sort(order, [&](std::int32_t a, std::int32_t b) {
            return before(system_.tasks[at(a)], system_.tasks[at(b)]);
        });
        return order;
    }

    void pack() {
        for (const std::int32_t task : take_homes(options_.order)) {
            undecided_ = false;
            const std::int32_t found = find(task);
            if (found >= 0) {
                take(task, found);
                continue;
            }
            if (undecided_) {
                partition_.refusal = "undecided whether task " + std::to_string(task) +
                                     " fits on a processor: the busy period is too long for an "
                                     "exact test";
                return;
            }
            partition_.unplaced.push_back(task);
            if (partition_.first_unplaced < 0) {
                partition_.first_unplaced = task;
            }
            if (options_.unplaced == "least-loaded") {
                take(task, emptiest());
            }
        }
    }

    std::int32_t find(std::int32_t task) {
        const bool next_fit = heuristic_ == "next-fit";
        const bool best_fit = heuristic_ == "best-fit";
        const bool search = best_fit || heuristic_ == "worst-fit";
        std::int32_t best = -1;
        for (std::int32_t k = next_fit ? current_ : 0; k < clusters_; k++) {
            if (best >= 0) {
                const int order = loads()[at(k)].compare(loads()[at(best)]);
                if (best_fit ? order <= 0 : order >= 0) {
                    continue;
                }
            }
            if (!fits(task, k)) {
                continue;
            }
            best = k;
            if (!search) {
                break;
            }
        }
        if (next_fit && best >= 0) {
            current_ = best;
        }
        return best;
    }

    std::vector<Load>& loads() { return admission_ == "density" ? density_ : utilisation_; }

    bool fits(std::int32_t task, std::int32_t cluster) {
        const Task& one = system_.tasks[at(task)];
        const Time whole = admission_ == "density" ? window(one) : one.period;
        if (!allowed(at(task), cluster) ||
            loads()[at(cluster)].compare_with(one.wcet, whole, capacity_) > 0) {
            return false;
        }
        if (admission_ != "exact") {
            return true;
        }
        std::vector<std::int32_t> together = members_[at(cluster)];
        together.push_back(task);
        return fit_exactly(std::move(together));
    }

    // What is undecided has no room here; `undecided_` tells.
    bool fit_exactly(std::vector<std::int32_t> together) {
        if (fixed_priority_) {
            std::ranges::sort(together, {}, [&](std::int32_t i) {
                return std::pair(levels_[at(i)], rank_[at(i)]);
            });
        }
        std::vector<Task> tasks;
        for (const std::int32_t i : together) {
            tasks.push_back(system_.tasks[at(i)]);
        }
        steps_ -= static_cast<std::int64_t>(tasks.size());
        const Fits found =
            fixed_priority_ ? fixed_priority_fits(tasks, steps_) : edf_fits(tasks, steps_);
        undecided_ = undecided_ || found == Fits::undecided || steps_ <= 0;
        return found == Fits::yes;
    }

    void take(std::int32_t task, std::int32_t cluster) {
        const Task& one = system_.tasks[at(task)];
        partition_.cluster[at(task)] = cluster;
        utilisation_[at(cluster)].add(one.wcet, one.period);
        density_[at(cluster)].add(one.wcet, window(one));
        members_[at(cluster)].push_back(task);
    }

    void untake(std::int32_t task, std::int32_t cluster) {
        const Task& one = system_.tasks[at(task)];
        utilisation_[at(cluster)].remove(one.wcet, one.period);
        density_[at(cluster)].remove(one.wcet, window(one));
        members_[at(cluster)].pop_back();
    }

    std::int32_t emptiest() const {
        std::int32_t least = 0;
        for (std::int32_t k = 1; k < clusters_; k++) {
            if (utilisation_[at(k)].compare(utilisation_[at(least)]) < 0) {
                least = k;
            }
        }
        return least;
    }

    const System& system_;
    const Options& options_;
    const std::int32_t clusters_, capacity_;
    const bool fixed_priority_;
    const bool symmetric_ = (beyond(system_) & kAffinity) == kNothing;
    const std::string &heuristic_, &admission_;
    std::vector<std::int64_t> levels_;
    std::vector<std::int32_t> rank_;
    std::vector<Load> utilisation_, density_;  // of every cluster
    std::vector<std::vector<std::int32_t>> members_;
    std::int64_t steps_ = kFitSteps;
    bool undecided_ = false;    // some exact test was
    std::int32_t current_ = 0;  // next fit: the cluster that took the last task
    Partition partition_;
};

}  // namespace

const std::vector<std::string>& partition_heuristics() {
    static const std::vector<std::string> names = {"auto", "next-fit", "first-fit", "best-fit",
                                                   "worst-fit"};
    return names;
}

const std::string& heuristic_for(const std::string& partition, std::int32_t capacity) {
    static const std::string first_fit = "first-fit", worst_fit = "worst-fit";
    return partition != "auto" ? partition : (capacity == 1 ? first_fit : worst_fit);
}

const std::vector<std::string>& partition_orders() {
    static const std::vector<std::string> names = {
        "file",        "utilisation-desc", "utilisation-asc", "period-asc",
        "period-desc", "deadline-asc",     "density-desc"};
    return names;
}

const std::vector<std::string>& partition_admissions() {
    static const std::vector<std::string> names = {"auto", "utilisation", "density", "exact"};
    return names;
}

const std::string& admission_for(const Options& options, std::int32_t capacity) {
    static const std::string exact = "exact", utilisation = "utilisation";
    if (options.admission != "auto") {
        return options.admission;
    }
    // Not predictable: sections that are not preempted, queues and servers, which the exact tests
    // do not count.
    return capacity == 1 && facts_of(options).predictable ? exact : utilisation;
}

const std::vector<std::array<std::string, 2>>& placing_rules() {
    static const auto rules = [] {
        std::vector<std::array<std::string, 2>> all;
        for (const std::string& order : partition_orders()) {
            for (const char* heuristic : {"first-fit", "worst-fit", "best-fit", "next-fit"}) {
                all.push_back({heuristic, order});
            }
        }
        return all;
    }();
    return rules;
}

namespace {

// The first placement of all heuristics in which every task finds a place, else that of a search.
Partition place_any(const System& system, const Options& options, std::int32_t clusters,
                    std::int32_t capacity, bool fixed_priority) {
    Options tried = options;
    tried.unplaced = "reject";
    for (const bool preferred : {true, false}) {
        for (const auto& [heuristic, order] : placing_rules()) {
            if ((order == options.order) != preferred) {
                continue;
            }
            tried.partition = heuristic;
            tried.order = order;
            Partition placed = Packing(system, tried, clusters, capacity, fixed_priority).run();
            if (placed.first_unplaced < 0) {
                return placed;
            }
        }
    }
    if (options.unplaced != tried.unplaced) {
        tried = options;
        tried.partition = "first-fit";
        return Packing(system, tried, clusters, capacity, fixed_priority).run();
    }
    std::optional<bool> exists;
    tried.admission = admission_for(options, capacity);
    Packing packing(system, tried, clusters, capacity, fixed_priority);
    if (tried.admission == "exact") {
        exists = packing.search(kFitSteps / 100);
    }
    Partition placed = packing.found();
    // Exact for sporadic tasks under these.
    const bool proves = options.policy == "p-edf" || options.policy == "p-fp";
    if (exists == false && proves && synchronous(system)) {
        placed.cluster.assign(system.tasks.size(), -1);
        placed.first_unplaced = 0;
    } else if (exists != true) {
        placed.refusal =
            "no heuristic places all tasks; whether another placement does is not known";
    }
    return placed;
}

}  // namespace

Partition place(const System& system, const Options& options, std::int32_t clusters,
                std::int32_t capacity, bool fixed_priority) {
    return options.partition == kAnyPlacement
               ? place_any(system, options, clusters, capacity, fixed_priority)
               : Packing(system, options, clusters, capacity, fixed_priority).run();
}

std::optional<bool> placeable(const System& system, Options options, bool fixed_priority,
                              std::int64_t steps) {
    options.admission = "exact";
    return Packing(system, options, system.processors, 1, fixed_priority).search(steps);
}

}  // namespace deadbeat::sched
