// Arrivals of sporadic tasks that come in bursts: for the tests of arrival curves.
#pragma once

#include "shared.hpp"

namespace deadbeat::sched::analysis {

// A task, and its arrivals: the steps of its curve, all again every period.
class Curve {
  public:
    Curve(const System& system, std::size_t i)
        : task(system.tasks[i]), jitter(system.extra(i).jitter) {
        const auto steps = details_of(system, i, DetailKind::step);
        steps_.assign(steps.begin(), steps.end());
        if (steps_.empty()) {
            steps_.push_back({.task = 0, .kind = DetailKind::step, .a = 1, .b = 1});
        }
    }

    // In any `window`, at most.
    Wide arrivals(Wide window) const {
        if (window <= 0) {
            return 0;
        }
        const auto rest = static_cast<Time>(window % task.period);
        const auto above = std::ranges::upper_bound(steps_, rest, {}, &Detail::a);
        return window / task.period * most() + (above == steps_.begin() ? 0 : above[-1].b);
    }

    // From an arrival to the `count`-th one after it, at least.
    Wide distance(Wide count) const {
        const auto rest = static_cast<Time>(count % most());
        const auto step = std::ranges::upper_bound(steps_, rest, {}, &Detail::b);
        return count / most() * task.period + step->a - 1;
    }

    Wide work(Wide window) const { return arrivals(window) * task.wcet; }
    Time most() const { return steps_.back().b; }  // in a period

    Task task;
    Time jitter;

  private:
    std::vector<Detail> steps_;
};

inline std::vector<Curve> curves(const System& system) {
    std::vector<Curve> found;
    for (std::size_t i = 0; i < system.tasks.size(); i++) {
        found.emplace_back(system, i);
    }
    return found;
}

// Whether they come to more work than one processor does, in the long run.
inline bool overload(const std::vector<Curve>& curves) {
    FractionSum load;
    for (const Curve& each : curves) {
        load.add(Wide{each.most()} * each.task.wcet, each.task.period);
    }
    return load.compare(1) > 0;
}

}  // namespace deadbeat::sched::analysis
