#include "deadbeat/sched/partition.hpp"

#include <algorithm>
#include <numeric>
#include <span>

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
          heuristic_(heuristic_for(options.partition, capacity)) {}

    Partition run() {
        partition_.cluster.assign(system_.tasks.size(), -1);
        partition_.refusal = refuse();
        if (partition_.refusal.empty()) {
            utilisation_.resize(at(clusters_));
            density_.resize(at(clusters_));
            members_.resize(at(clusters_));
            pack();
        }
        return std::move(partition_);
    }

  private:
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
        }
        return options_.admission == "exact" ? refuse_exact() : "";
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

    void pack() {
        std::vector<std::int32_t> order;
        for (std::size_t i = 0; i < system_.tasks.size(); i++) {
            const Task& task = system_.tasks[i];
            if (task.home >= 0) {
                take(static_cast<std::int32_t>(i), static_cast<std::int32_t>(task.home));
            } else {
                order.push_back(static_cast<std::int32_t>(i));
            }
        }
        const Before before = before_of(options_.order);
        std::ranges::stable_sort(order, [&](std::int32_t a, std::int32_t b) {
            return before(system_.tasks[at(a)], system_.tasks[at(b)]);
        });
        for (const std::int32_t task : order) {
            const std::int32_t found = find(task);
            if (!partition_.refusal.empty()) {
                return;
            }
            if (found >= 0) {
                take(task, found);
                continue;
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

    std::vector<Load>& loads() { return options_.admission == "density" ? density_ : utilisation_; }

    bool fits(std::int32_t task, std::int32_t cluster) {
        const Task& one = system_.tasks[at(task)];
        const Time whole = options_.admission == "density" ? window(one) : one.period;
        if (loads()[at(cluster)].compare_with(one.wcet, whole, capacity_) > 0) {
            return false;
        }
        return options_.admission != "exact" || fits_exactly(task, cluster);
    }

    bool fits_exactly(std::int32_t task, std::int32_t cluster) {
        std::vector<std::int32_t> together = members_[at(cluster)];
        together.push_back(task);
        if (fixed_priority_) {
            std::ranges::sort(together, {}, [&](std::int32_t i) {
                return std::pair(levels_[at(i)], rank_[at(i)]);
            });
        }
        std::vector<Task> tasks;
        for (const std::int32_t i : together) {
            tasks.push_back(system_.tasks[at(i)]);
        }
        const Fits found = fixed_priority_ ? fixed_priority_fits(tasks) : edf_fits(tasks);
        if (found == Fits::undecided) {
            partition_.refusal = "undecided whether task " + std::to_string(task) +
                                 " fits on processor " + std::to_string(cluster) +
                                 ": the busy period is too long for an exact test";
        }
        return found == Fits::yes;
    }

    void take(std::int32_t task, std::int32_t cluster) {
        const Task& one = system_.tasks[at(task)];
        partition_.cluster[at(task)] = cluster;
        utilisation_[at(cluster)].add(one.wcet, one.period);
        density_[at(cluster)].add(one.wcet, window(one));
        members_[at(cluster)].push_back(task);
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
    const std::string& heuristic_;
    std::vector<std::int64_t> levels_;
    std::vector<std::int32_t> rank_;
    std::vector<Load> utilisation_, density_;  // of every cluster
    std::vector<std::vector<std::int32_t>> members_;
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
    static const std::vector<std::string> names = {"utilisation", "density", "exact"};
    return names;
}

Partition place(const System& system, const Options& options, std::int32_t clusters,
                std::int32_t capacity, bool fixed_priority) {
    return Packing(system, options, clusters, capacity, fixed_priority).run();
}

}  // namespace deadbeat::sched
