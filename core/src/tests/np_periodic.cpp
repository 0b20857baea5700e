// Periodic tasks, each job late by at most its jitter, not preempted, executing from its least time
// to C, under global fixed priorities or EDF, at whole instants. Nodes of graphs are executed each
// by itself, as urgent as the job and in the order of their numbers.
//
// Schedule abstraction graphs (Nasri and Brandenburg, RTSS 2017; Nasri, Nelissen and Brandenburg,
// ECRTS 2018 and 2019): a state is what has been started, and an interval of instants at which the
// first processor becomes free, the second ..., and at which nodes end that others wait for. The
// next one to start may be one that starts, at the earliest, when a processor may be free and it
// may be ready, and at the latest before a more urgent one is certainly ready, and when any one is
// and a processor certainly free: none waits for nothing. Of a job's nodes that nothing precedes
// the first one starts first; when it does the job is released.
//
// On one processor every instant of these intervals is reached, as states are one only where their
// intervals leave no gap: that is exact. On several, instants of one interval come together with
// some of another only, so that what is explored is more than what happens: it proves that no job
// misses. Where one may, every start and end takes a state of its own: first the earliest and the
// latest ones, to find a schedule that misses, then all, which is exact. What the releases of jobs
// that have not started are known to be is then in the last start, of x at s: more urgent ones come
// later than s; others, if a processor was free before s, not earlier than s. Both matter only if
// another processor is free at s, and the second to nothing, as no start is before s. Different
// jobs' releases have nothing to do with each other, so every choice that is left to each happens.
#include "periodic.hpp"

namespace deadbeat::sched::np_periodic {

namespace {

using namespace periodic;

enum class How { intervals, ends, points };

// Of one set of started jobs: beyond it intervals that meet are united although that adds some.
constexpr std::size_t kBoxes = 8;
constexpr std::int64_t kLittle = 20'000;  // steps

class Exploration {
  public:
    Exploration(const Jobs& jobs, std::int32_t processors, std::int64_t budget, How how)
        : jobs_(jobs), how_(how), m_(at(processors)), budget_(budget), steps_(budget) {
        const std::size_t n = jobs.tasks.size();
        masks_.assign(n, 0);
        std::size_t words = n;
        for (std::size_t i = 0; i < n; i++) {
            masks_[i] = jobs.size(i) > 1 ? words++ : 0;
        }
        free_ = words;
        words += 2 * m_;
        slots_.assign(jobs.nodes.size(), 0);
        ends_ = words;
        for (std::size_t x = 0; x < jobs.nodes.size(); x++) {
            // On one processor all have ended that have started, when it is free.
            if (jobs.nodes[x].leads != 0 && m_ > 1) {
                slots_[x] = words;
                words += kSlot;
            }
        }
        last_ = words;
        width_ = words + 2;
        worst_.assign(n, 0);
    }

    Seen run() {
        Layer layer(width_), next(width_);
        std::vector<Time> root(width_, 0);
        root[last_] = root[last_ + 1] = -1;
        layer.add(root.data(), width_, [](Time*, std::size_t) { return false; });
        while (layer.size() > 0) {
            next.clear();
            for (std::size_t i = 0; i < layer.size(); i++) {
                expand(layer.state(i), next);
                if (late_) {
                    return Seen::late;
                }
                if (!steps_.spend(0)) {
                    return Seen::budget;
                }
            }
            std::swap(layer, next);
        }
        return Seen::fits;
    }
    const std::vector<Time>& worst() const { return worst_; }
    std::int64_t steps() const { return budget_ - steps_.left(); }

  private:
    struct Candidate {
        std::size_t node;
        Time arrival;
        Time early, late;  // ready
        Time sure;         // whatever starts from then on starts when it is ready
        std::pair<Time, Time> urgency;
    };
    struct Interval {
        Time first, last;
    };
    static constexpr std::size_t kSlot = 3;  // first and last end, whether its processor is its own

    Time latest_end(const Time* state, std::size_t node) const {
        return slots_[node] == 0 ? 0 : state[slots_[node] + 1];
    }

    // A node of a job that has started or not. It starts when it is released, at the latest.
    void offer(const Time* state, std::size_t x, Time arrival, bool started) {
        const Node& node = jobs_.nodes[x];
        const Time late = arrival + jobs_.jitter[node.task];
        Candidate found{.node = x,
                        .arrival = arrival,
                        .early = arrival,
                        .late = started && how_ != How::intervals ? arrival : late,
                        .sure = started ? arrival : late,
                        .urgency = jobs_.urgency(node, arrival)};
        for (const std::size_t before : node.before) {
            if (slots_[before] != 0) {
                found.early = std::max(found.early, state[slots_[before]]);
                found.late = std::max(found.late, state[slots_[before] + 1]);
                found.sure = std::max(found.sure, state[slots_[before] + 1]);
            }
        }
        auto place = candidates_.end();
        while (place != candidates_.begin() && found.urgency < (place - 1)->urgency) {
            place--;
        }
        candidates_.insert(place, found);
    }

    void find_candidates(const Time* state) {
        candidates_.clear();
        for (std::size_t i = 0; i < jobs_.tasks.size(); i++) {
            const Time arrival = jobs_.arrival(i, state[i]);
            if (arrival >= jobs_.end) {
                continue;
            }
            const auto done = masks_[i] == 0 ? 0 : static_cast<std::uint64_t>(state[masks_[i]]);
            if (done == 0) {
                offer(state, jobs_.first[i], arrival, false);
                continue;
            }
            for (std::size_t k = 0; k < jobs_.size(i); k++) {
                const std::uint64_t needs = jobs_.nodes[jobs_.first[i] + k].needs;
                if ((done >> k & 1U) == 0 && (needs & ~done) == 0) {
                    offer(state, jobs_.first[i] + k, arrival, true);
                }
            }
        }
    }

    // When a more urgent one is certainly ready if `x` can start: what `x` waits for has ended.
    Time certain(const Time* state, std::size_t x) const {
        Time found = kNever;
        const Node& node = jobs_.nodes[candidates_[x].node];
        for (std::size_t y = 0; y < x; y++) {
            const Candidate& other = candidates_[y];
            Time ready = other.sure;
            if (jobs_.nodes[other.node].task == node.task) {
                ready = other.arrival;
                for (const std::size_t before : jobs_.nodes[other.node].before) {
                    const std::size_t k = before - jobs_.first[node.task];
                    if ((node.needs >> k & 1U) == 0) {
                        ready = std::max(ready, latest_end(state, before));
                    }
                }
            }
            found = std::min(found, ready);
        }
        return found;
    }

    void expand(const Time* state, Layer& next) {
        find_candidates(state);
        steps_.spend(2 * candidates_.size());
        const Time* free = state + free_;
        Time any = kNever;
        for (const Candidate& each : candidates_) {
            any = std::min(any, each.late);
        }
        any = std::max(any, free[1]);
        Time urgent = kNever;
        for (std::size_t x = 0; x < candidates_.size() && urgent > free[0]; x++) {
            const Candidate& one = candidates_[x];
            const Node& node = jobs_.nodes[one.node];
            const bool grouped = masks_[node.task] != 0 && m_ > 1;
            const Time before = grouped ? certain(state, x) : urgent;
            urgent = std::min(urgent, one.sure);
            Interval start{std::max(free[0], one.early), std::min(any, before - 1)};
            if (one.urgency < std::pair(state[last_], state[last_ + 1])) {
                start.first = std::max(start.first, free[0] + 1);
            }
            if (start.first > start.last) {
                continue;
            }
            Time& worst = worst_[node.task];
            worst = std::max(worst, start.last + node.most - one.arrival);
            late_ = late_ || worst > jobs_.tasks[node.task].deadline;
            if (late_) {
                return;
            }
            if (how_ == How::intervals) {
                start_one(state, one, start, {start.first + node.least, start.last + node.most},
                          next);
                continue;
            }
            const Time step = how_ == How::points ? 1 : std::max<Time>(1, start.last - start.first);
            const Time longer = how_ == How::points ? 1 : std::max<Time>(1, node.most - node.least);
            for (Time s = start.first; s <= start.last; s += step) {
                for (Time cost = node.least; cost <= node.most; cost += longer) {
                    start_one(state, one, {s, s}, {s + cost, s + cost}, next);
                    if (!steps_.spend(0)) {
                        return;
                    }
                }
            }
        }
    }

    void start_one(const Time* state, const Candidate& one, Interval start, Interval end,
                   Layer& next) {
        const Node& node = jobs_.nodes[one.node];
        then_.assign(state, state + width_);
        std::size_t freed = 0;
        for (std::size_t slot = ends_; slot < last_; slot += kSlot) {
            then_[slot + 2] &= start.last < then_[slot];
        }
        for (const std::size_t before : node.before) {
            if (slots_[before] != 0) {
                freed += state[slots_[before] + 2] != 0;
                then_[slots_[before] + 2] = 0;
            }
        }
        free_processors(state, start, end, freed);
        if (slots_[one.node] != 0) {
            then_[slots_[one.node]] = end.first;
            then_[slots_[one.node] + 1] = end.last;
            then_[slots_[one.node] + 2] = how_ == How::intervals;
        }
        if (const std::size_t mask = masks_[node.task]; mask == 0) {
            then_[node.task]++;
        } else {
            progress(one.node, mask);
        }
        const bool at_once = how_ != How::intervals && then_[free_] <= start.first;
        then_[last_] = at_once ? one.urgency.first : -1;
        then_[last_ + 1] = at_once ? one.urgency.second : -1;
        steps_.spend(4 * width_);
        if (how_ != How::intervals) {
            for (std::size_t slot = ends_; slot < last_; slot += kSlot) {
                if (then_[slot] <= then_[free_]) {  // whatever is next starts later
                    then_[slot] = then_[slot + 1] = 0;
                }
            }
            next.add(then_.data(), width_, [](Time*, std::size_t) { return true; });
        } else {
            next.add(then_.data(), free_,
                     [this](Time* kept, std::size_t same) { return united(kept, same); });
        }
    }

    // Of what `x` waited for `freed` had a processor each that is free when it starts.
    void free_processors(const Time* state, Interval start, Interval end, std::size_t freed) {
        const Time* from = state + free_;
        early_.clear();
        late_ends_.clear();
        for (std::size_t k = 1; k < m_; k++) {
            const bool is_freed = k < freed;
            const Time latest = std::max(start.first, from[2 * k + 1]);
            early_.push_back(is_freed ? start.first : std::max(start.first, from[2 * k]));
            late_ends_.push_back(is_freed ? std::min(start.last, latest) : latest);
        }
        early_.push_back(end.first);
        late_ends_.push_back(end.last);
        std::ranges::sort(early_);
        std::ranges::sort(late_ends_);
        for (std::size_t k = 0; k < m_; k++) {
            then_[free_ + 2 * k] = early_[k];
            then_[free_ + 2 * k + 1] = late_ends_[k];
        }
    }

    void progress(std::size_t x, std::size_t mask) {
        const Node& node = jobs_.nodes[x];
        const std::size_t first = jobs_.first[node.task];
        auto done = static_cast<std::uint64_t>(then_[mask]) | std::uint64_t{1} << (x - first);
        for (const std::size_t before : node.before) {
            if (slots_[before] != 0 && (jobs_.nodes[before].leads & ~done) == 0) {
                std::fill_n(then_.begin() + static_cast<std::ptrdiff_t>(slots_[before]), kSlot, 0);
            }
        }
        if (done == jobs_.all(node.task)) {
            done = 0;
            then_[node.task]++;
        }
        then_[mask] = static_cast<Time>(done);
    }

    // Of the intervals of `then_` and of `kept`, with as many known: whether `kept` now has both.
    bool united(Time* kept, std::size_t same) const {
        bool apart = false, wider = true, narrower = true;
        std::size_t different = 0;
        const auto meet = [&](std::size_t k) {
            const bool equal = kept[k] == then_[k] && kept[k + 1] == then_[k + 1];
            different += !equal;
            wider = wider && kept[k] <= then_[k] && kept[k + 1] >= then_[k + 1];
            narrower = narrower && kept[k] >= then_[k] && kept[k + 1] <= then_[k + 1];
            apart = apart || kept[k] > then_[k + 1] + 1 || then_[k] > kept[k + 1] + 1;
        };
        for (std::size_t k = free_; k < ends_; k += 2) {
            meet(k);
        }
        for (std::size_t slot = ends_; slot < last_; slot += kSlot) {
            meet(slot);
            wider = wider && kept[slot + 2] <= then_[slot + 2];
            narrower = narrower && kept[slot + 2] >= then_[slot + 2];
        }
        if (wider) {
            return true;
        }
        if (!narrower && (apart || (different > 1 && same < kBoxes))) {
            return false;
        }
        for (std::size_t k = free_; k < ends_; k += 2) {
            unite(kept + k, k);
        }
        for (std::size_t slot = ends_; slot < last_; slot += kSlot) {
            unite(kept + slot, slot);
            kept[slot + 2] = std::min(kept[slot + 2], then_[slot + 2]);
        }
        return true;
    }
    void unite(Time* kept, std::size_t k) const {
        kept[0] = std::min(kept[0], then_[k]);
        kept[1] = std::max(kept[1], then_[k + 1]);
    }

    const Jobs& jobs_;
    const How how_;
    const std::size_t m_;
    const std::int64_t budget_;
    Steps steps_;
    // Words of a state: the job of each task, what of it has started (of graphs), when processors
    // are free, ends of nodes, and the urgency of the last one to start or -1.
    std::vector<std::size_t> masks_, slots_;  // of tasks, of nodes; 0: none
    std::size_t free_ = 0, ends_ = 0, last_ = 0, width_ = 0;
    std::vector<Candidate> candidates_;  // most urgent first
    std::vector<Time> then_, early_, late_ends_, worst_;
    bool late_ = false;
};

template <bool edf>
TestVerdict test(const System& system, const TestOptions& options, std::span<Time> bounds) {
    Jobs jobs;
    if (const auto made = make(system, options, edf, jobs); made.answer != TestAnswer::accepted) {
        return made;
    }
    const auto explored = [&](How how, std::int64_t budget) {
        Exploration exploration(jobs, system.processors, budget, how);
        const Seen seen = exploration.run();
        if (seen == Seen::fits && how != How::ends) {
            std::ranges::copy_n(exploration.worst().begin(),
                                static_cast<std::ptrdiff_t>(bounds.size()), bounds.begin());
        }
        return std::pair(seen, exploration.steps());
    };
    const TestVerdict misses =
        jobs.relaxed ? undecided("a schedule misses whose nodes may take less than the bcet")
                     : refuted("a job misses");
    const auto [seen, steps] = explored(How::intervals, options.budget);
    if (system.processors == 1) {
        return seen == Seen::fits ? kAccepted : seen == Seen::late ? misses : kBudget;
    }
    if (seen == Seen::fits) {
        if (!bounds.empty()) {  // may be more than is attained: the others, if they take no longer
            explored(How::points, std::min(options.budget, std::max(kLittle, steps)));
        }
        return kAccepted;
    }
    if (explored(How::ends, options.budget).first == Seen::late) {
        return misses;
    }
    const Seen every = explored(How::points, options.budget).first;
    return every == Seen::fits ? kAccepted : every == Seen::late ? misses : kBudget;
}

constexpr const char* kReference =
    "Nasri and Brandenburg, RTSS 2017; Nasri, Nelissen and Brandenburg, ECRTS 2018 and 2019";

const TestRegistrar registrar_fp(info("np-periodic-fp",
                                      "Non-preemptive fixed priorities, all schedules",
                                      "g-np-fp+periodic", kReference),
                                 test<false>);
const TestRegistrar registrar_edf(info("np-periodic-edf", "Non-preemptive EDF, all schedules",
                                       "g-np-edf+periodic", kReference),
                                  test<true>);

}  // namespace

}  // namespace deadbeat::sched::np_periodic
