#include "sporadic_states.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <tuple>
#include <unordered_map>

namespace deadbeat::sched {

namespace {

// Baker and Cirinei, "Brute-force determination of multiprocessor schedulability for sets of
// sporadic hard-deadline tasks", OPODIS 2007: a state is, for every task, what its job still needs
// (c) and the time until it may release the next one (p). With D <= T and no miss so far a task has
// one job at most, and its deadline is p - (T - D) away. From a state, any subset of the tasks with
// c = p = 0 releases; then one unit of time passes under the policy. Jobs execute exactly C: where
// a job keeps its priority the policy is predictable (Ha and Liu, ICDCS 1994), so if a sequence
// with shorter jobs misses, so does the same one with C.
//
// Pruning (after Geeraerts, Goossens and Lindstrom, "Multiprocessor schedulability of arbitrary-
// deadline sporadic tasks: complexity and antichain algorithm", Real-Time Systems 49, 2013). State
// E covers S when the same tasks have jobs, for these p is equal and E's c is no less, and for the
// others E's p is no more. If S can miss in t units then E can in at most t. Proof: let E release
// what S releases, when S does. Tasks without a job may: E's p is no more. Tasks with a job have
// the same p; at such a release E's previous job is complete, or it missed its deadline, D <= T,
// and we are done. So both are schedules of jobs with the same releases, deadlines and total static
// priorities, E's needing no less; by predictability no job completes earlier in E, and the job
// that misses in S misses in E, if nothing did before. Hence a state that a kept one covers need
// not be kept: among the kept states one with the shortest way to a miss has a successor with a
// shorter one, which is a miss, or kept, or covered by one kept with a way no longer.
class Explorer {
  public:
    Explorer(const SporadicGlobal& system, Time grain, std::int64_t budget)
        : system_(system), grain_(grain), budget_(budget), n_(system.tasks.size()) {}

    Exploration run() {
        if (!fits()) {
            found_.found = Exploration::Found::too_large;
            return std::move(found_);
        }
        keep(std::vector<Cell>(n_), kRoot, 0);
        for (std::size_t next = 0; next < origins_.size(); next++) {
            if (!covered_[next] && !expand(next)) {
                found_.states = static_cast<std::int64_t>(origins_.size());
                return std::move(found_);
            }
        }
        found_.found = Exploration::Found::no_miss;
        found_.states = static_cast<std::int64_t>(origins_.size());
        return std::move(found_);
    }

  private:
    struct Cell {
        std::int32_t need = 0;  // c
        std::int32_t wait = 0;  // p
    };
    struct Origin {
        std::uint32_t parent;
        std::uint32_t released;  // bit i: task i, on the way here
    };
    struct Parameters {
        std::int32_t wcet, period, slack;  // T - D
    };
    static constexpr std::uint32_t kRoot = std::numeric_limits<std::uint32_t>::max();
    static constexpr std::size_t kTasks = 16;  // the first state alone has 2^16 successors
    static constexpr std::int64_t kWork = 8;   // successors per state of the budget

    bool fits() {
        if (n_ > kTasks) {
            return false;
        }
        for (const Task& task : system_.tasks) {
            if (task.period / grain_ > std::numeric_limits<std::int32_t>::max() / 2) {
                return false;
            }
            parameters_.push_back(
                {static_cast<std::int32_t>(task.wcet / grain_),
                 static_cast<std::int32_t>(task.period / grain_),
                 static_cast<std::int32_t>((task.period - task.deadline) / grain_)});
        }
        return true;
    }

    // False: a miss was found, or the budget is used up.
    bool expand(std::size_t index) {
        const std::vector<Cell> from(
            cells_.begin() + static_cast<std::ptrdiff_t>(index * n_),
            cells_.begin() + static_cast<std::ptrdiff_t>((index + 1) * n_));
        std::uint32_t eligible = 0;
        for (std::size_t i = 0; i < n_; i++) {
            if (from[i].need == 0 && from[i].wait == 0) {
                eligible |= 1U << i;
            }
        }
        // All subsets of `eligible`, the full one first.
        for (std::uint32_t released = eligible;; released = (released - 1) & eligible) {
            std::vector<Cell> to = from;
            const std::int32_t missed = step(to, released);
            if (missed >= 0) {
                tell(index, released, missed);
                return false;
            }
            keep(to, static_cast<std::uint32_t>(index), released);
            generated_++;
            if (static_cast<std::int64_t>(origins_.size()) > budget_ ||
                generated_ / kWork > budget_) {
                found_.found = Exploration::Found::budget;
                return false;
            }
            if (released == 0) {
                return true;
            }
        }
    }

    // One unit of time. The task that misses at its end, or -1.
    std::int32_t step(std::vector<Cell>& cells, std::uint32_t released) {
        ready_.clear();
        for (std::size_t i = 0; i < n_; i++) {
            if ((released >> i & 1U) != 0) {
                cells[i] = {parameters_[i].wcet, parameters_[i].period};
            }
            if (cells[i].need > 0) {
                ready_.push_back(i);
            }
        }
        const auto urgent = [&](std::size_t i) {
            const std::optional<std::int64_t>& level = system_.levels[i];
            const std::int64_t due = cells[i].wait - parameters_[i].slack;
            return std::tuple(!level, level.value_or(due), system_.rank[i]);
        };
        std::ranges::sort(ready_, {}, urgent);
        const auto m = std::min(ready_.size(), static_cast<std::size_t>(system_.processors));
        for (std::size_t k = 0; k < m; k++) {
            cells[ready_[k]].need--;
        }
        std::int32_t missed = -1;
        for (std::size_t i = 0; i < n_; i++) {
            cells[i].wait = std::max(0, cells[i].wait - 1);
            if (missed < 0 && cells[i].need > 0 && cells[i].wait <= parameters_[i].slack) {
                missed = static_cast<std::int32_t>(i);
            }
        }
        return missed;
    }

    // States that can cover each other have the same tasks with jobs and the same p of those.
    std::uint64_t place_of(const std::vector<Cell>& cells) const {
        std::uint64_t hash = 0x9e3779b97f4a7c15U;
        for (const Cell& cell : cells) {
            const auto word = static_cast<std::uint64_t>(cell.need > 0 ? cell.wait + 1 : 0);
            hash = (hash ^ word) * 0xff51afd7ed558ccdU;
            hash ^= hash >> 32;
        }
        return hash;
    }

    template <class CellsE, class CellsS>
    bool covers(const CellsE& e, const CellsS& s) const {
        for (std::size_t i = 0; i < n_; i++) {
            const bool ok = s[i].need > 0 ? e[i].need >= s[i].need && e[i].wait == s[i].wait
                                          : e[i].need == 0 && e[i].wait <= s[i].wait;
            if (!ok) {
                return false;
            }
        }
        return true;
    }

    void keep(const std::vector<Cell>& cells, std::uint32_t parent, std::uint32_t released) {
        std::vector<std::uint32_t>& near = places_[place_of(cells)];
        const auto cells_of = [&](std::uint32_t index) { return &cells_[index * n_]; };
        for (const std::uint32_t index : near) {
            if (covers(cells_of(index), cells)) {
                return;
            }
        }
        std::erase_if(near, [&](std::uint32_t index) {
            covered_[index] = covers(cells, cells_of(index));
            return covered_[index];
        });
        near.push_back(static_cast<std::uint32_t>(origins_.size()));
        origins_.push_back({parent, released});
        covered_.push_back(false);
        cells_.insert(cells_.end(), cells.begin(), cells.end());
    }

    void tell(std::size_t index, std::uint32_t released, std::int32_t missed) {
        std::vector<std::uint32_t> way = {released};
        for (auto at = static_cast<std::uint32_t>(index); origins_[at].parent != kRoot;
             at = origins_[at].parent) {
            way.push_back(origins_[at].released);
        }
        std::ranges::reverse(way);
        found_.found = Exploration::Found::miss;
        found_.first_miss = static_cast<Time>(way.size()) * grain_;
        found_.task = missed;
        found_.releases.resize(n_);
        for (std::size_t t = 0; t < way.size(); t++) {
            for (std::size_t i = 0; i < n_; i++) {
                if ((way[t] >> i & 1U) != 0) {
                    found_.releases[i].push_back(static_cast<Time>(t) * grain_);
                }
            }
        }
    }

    const SporadicGlobal& system_;
    const Time grain_;
    const std::int64_t budget_;
    const std::size_t n_;
    std::vector<Parameters> parameters_;
    std::vector<Cell> cells_;  // of all kept states, n_ each
    std::vector<Origin> origins_;
    std::vector<bool> covered_;  // by a later one
    std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> places_;
    std::vector<std::size_t> ready_;
    std::int64_t generated_ = 0;
    Exploration found_;
};

}  // namespace

// A miss on the grid of the parameters' common divisor is a miss at integer instants; only all of
// these instants decide that there is none.
Exploration explore(const SporadicGlobal& system, std::int64_t budget, std::int64_t& used) {
    Exploration seen;
    seen.found = Exploration::Found::too_large;
    Time divisor = 0;
    for (const Task& task : system.tasks) {
        if (task.deadline > task.period) {
            return seen;
        }
        divisor = std::gcd(divisor, std::gcd(task.wcet, std::gcd(task.period, task.deadline)));
    }
    for (const Time grain : {divisor, Time{1}}) {
        seen = Explorer(system, grain, budget - used).run();
        used += seen.states;
        if (seen.found != Exploration::Found::no_miss || divisor == 1) {
            break;
        }
    }
    return seen;
}

}  // namespace deadbeat::sched
