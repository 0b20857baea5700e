// Tasks that are released together at 0 and then every period, each job late by at most its jitter,
// not preempted, executing from its least time to C, under fixed priorities or EDF: exactly, at
// whole instants, by exploration of all schedules (Nasri and Brandenburg, RTSS 2017). A state is
// what has been started, the first `counts[i]` jobs of each task i, and an interval of instants at
// which the processor becomes free, each of them reached. The next one to start may be a job that
// starts, at the earliest, when the processor is free and it is released, and at the latest before
// a more urgent one is certainly released, and when any one is and the processor is certainly free:
// the processor waits for nothing that is released. States of one depth with the same jobs and
// intervals that leave no gap are one.
//
// With D <= T, and no miss, all jobs of a hyper-period end in it: one decides.
#include <map>

#include "deadbeat/sched/ties.hpp"
#include "shared.hpp"

namespace deadbeat::sched::np_periodic {

namespace {

using namespace analysis;

struct Interval {
    Time first, last;
};
using Counts = std::vector<std::int32_t>;
using States = std::map<Counts, std::vector<Interval>>;

// What a state costs, as it is kept.
constexpr std::size_t kStateSteps = 64;

// Unites `found` with those it meets.
void add(std::vector<Interval>& intervals, Interval found) {
    std::erase_if(intervals, [&](const Interval& other) {
        const bool meets = found.first <= other.last + 1 && other.first <= found.last + 1;
        if (meets) {
            found = {std::min(found.first, other.first), std::max(found.last, other.last)};
        }
        return meets;
    });
    intervals.push_back(found);
}

class Exploration {
  public:
    Exploration(const System& system, const TestOptions& options,
                const std::vector<std::int32_t>& rank, bool edf)
        : system_(system), rank_(rank), edf_(edf), steps_(options) {
        for (std::size_t i = 0; i < system.tasks.size(); i++) {
            const auto least = details_of(system, i, DetailKind::bcet);
            least_.push_back(least.empty() ? system.tasks[i].wcet : least[0].a);
        }
    }

    TestVerdict run(Time cycle, std::span<Time> bounds) {
        Wide jobs = 0;
        for (const Task& task : system_.tasks) {
            jobs += cycle / task.period;
        }
        cycle_ = cycle;
        worst_.assign(system_.tasks.size(), 0);
        States states{{Counts(system_.tasks.size()), {{0, 0}}}};
        for (Wide depth = 0; depth < jobs; depth++) {
            States next;
            for (const auto& [counts, intervals] : states) {
                for (const Interval& free : intervals) {
                    expand(counts, free, next);
                }
            }
            if (late_) {
                return refuted("a job misses");
            }
            if (!steps_.spend(1)) {
                return kBudget;
            }
            states = std::move(next);
        }
        std::ranges::copy_n(worst_.begin(), static_cast<std::ptrdiff_t>(bounds.size()),
                            bounds.begin());
        return kAccepted;
    }

  private:
    // Less is more urgent; of the next job of a task.
    std::pair<Time, std::int32_t> urgency(std::size_t i, Time arrival) const {
        return {edf_ ? arrival + system_.tasks[i].deadline : 0, rank_[i]};
    }

    void expand(const Counts& counts, const Interval& free, States& next) {
        const std::size_t n = counts.size();
        if (late_ || !steps_.spend(n * n)) {
            return;
        }
        const auto arrival = [&](std::size_t i) { return system_.tasks[i].period * counts[i]; };
        Time certain = kNever;
        for (std::size_t i = 0; i < n; i++) {
            if (arrival(i) < cycle_) {
                certain = std::min(certain, arrival(i) + system_.extra(i).jitter);
            }
        }
        for (std::size_t i = 0; i < n; i++) {
            const Time own = arrival(i);
            Interval start{std::max(free.first, own), std::max(free.last, certain)};
            for (std::size_t j = 0; j < n; j++) {
                if (arrival(j) < cycle_ && urgency(j, arrival(j)) < urgency(i, own)) {
                    start.last = std::min(start.last, arrival(j) + system_.extra(j).jitter - 1);
                }
            }
            if (own >= cycle_ || start.first > start.last) {
                continue;
            }
            const Interval end{start.first + least_[i], start.last + system_.tasks[i].wcet};
            worst_[i] = std::max(worst_[i], end.last - own);
            late_ = late_ || worst_[i] > system_.tasks[i].deadline;
            Counts then = counts;
            then[i]++;
            add(next[std::move(then)], end);
            steps_.spend(kStateSteps);
        }
    }

    const System& system_;
    const std::vector<std::int32_t>& rank_;
    bool edf_;
    Steps steps_;
    std::vector<Time> least_, worst_;
    Time cycle_ = 0;
    bool late_ = false;
};

TestVerdict test(const System& system, const TestOptions& options, std::span<Time> bounds,
                 bool edf) {
    if (system.processors != 1) {
        return kNotUni;
    }
    if (options.blocking > 0) {
        return not_applicable("tasks may be blocked");
    }
    if (!constrained(system)) {
        return kNotConstrained;
    }
    if (!synchronous(system)) {
        return not_applicable("a task has an offset");
    }
    std::vector<std::int32_t> rank = tie_rank(system, options.ties);
    if (!edf) {
        const auto order = priority_order(system, options);
        for (std::size_t place = 0; place < order.size(); place++) {
            rank[at(order[place])] = static_cast<std::int32_t>(place);
        }
        rank.resize(order.size());
    }
    if (rank.empty()) {
        return kUnknownOrder;
    }
    const auto cycle = hyperperiod(system);
    return cycle ? Exploration(system, options, rank, edf).run(*cycle, bounds) : kTooLarge;
}

TestVerdict fp(const System& system, const TestOptions& options, std::span<Time> bounds) {
    return test(system, options, bounds, false);
}

TestVerdict edf(const System& system, const TestOptions& options, std::span<Time> bounds) {
    return test(system, options, bounds, true);
}

TestInfo info(const char* name, const char* title, const char* scheduler) {
    return {.name = name,
            .title = title,
            .reference = "Nasri and Brandenburg, RTSS 2017",
            .scheduler = scheduler,
            .model = "periodic-sync",
            .ties = "given",
            .deadlines = "constrained",
            .kind = TestKind::exact,
            .cost = 60,
            .whole_instants = true,
            .models = kJitter | kShorter};
}

const TestRegistrar registrar_fp(info("np-periodic-fp",
                                      "Non-preemptive fixed priorities, all schedules",
                                      "g-np-fp+periodic"),
                                 fp);
const TestRegistrar registrar_edf(info("np-periodic-edf", "Non-preemptive EDF, all schedules",
                                       "g-np-edf+periodic"),
                                  edf);

}  // namespace

}  // namespace deadbeat::sched::np_periodic
