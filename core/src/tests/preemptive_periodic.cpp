// Periodic tasks, each job late by at most its jitter, preempted under global fixed priorities or
// EDF, at whole instants: exactly, by exploration of all schedules (compare Gohari, Voeten and
// Nasri, ECRTS 2024, whose intervals bound what is explored here).
//
// A state is an instant, how many jobs of each task have been released, and what each has left.
// Jobs take C: where a job's priority does not change and releases are what they are, no job ends
// later where others need less (Ha and Liu, ICDCS 1994). So it is releases alone that are tried,
// and of two states of one instant with the same jobs released the one in which each has as much
// left or more stands for both: from it on, whatever is released next, every job ends as late or
// later. Graphs are not so, as the end of a node is a release: theirs are one only where equal, and
// their nodes take what the file says.
//
// That tries every instant of a job's jitter. Where these are too many, they are cut into segments:
// a job that is released within one, of length l, is taken as released at its beginning with C + l,
// of which no more than C is left at its end. When the job is released it has C or more left, and
// so have the others what they have in truth: with a job more that computes before, they end no
// earlier. States of one instant with the same jobs released become one, in which each has the most
// left that it has in any. What that accepts is schedulable; a miss is none, unless one is found
// with releases at the first and the last instants alone.
#include <map>

#include "periodic.hpp"

namespace deadbeat::sched::preemptive_periodic {

namespace {

using namespace periodic;

// Parts of the budget: of all instants, before segments are tried, and of those.
constexpr std::int64_t kCheap = 512, kOfSegments = 64;
constexpr Time kSegments = 64;
constexpr std::size_t kOpen = 16;  // jobs that may be released at an instant: 2^16 successors

// Segments of each jitter, or 0: all its instants are tried. Not joined: only where they begin, and
// its end.
struct Way {
    Time segments;
    bool joined;
    std::int64_t budget;
};

class Exploration {
  public:
    Exploration(const Jobs& jobs, std::int32_t processors, const Way& way)
        : jobs_(jobs),
          way_(way),
          m_(at(processors)),
          n_(jobs.tasks.size()),
          width_(n_ + jobs.nodes.size()),
          worst_(n_, 0),
          steps_(way.budget) {
        for (const Time jitter : jobs.jitter) {
            apart_.push_back(way.segments == 0 ? 1
                             : way.joined      ? jitter / way.segments + 1
                                               : std::max<Time>(1, jitter));
        }
    }

    Seen run() {
        then_.assign(width_, 0);
        keep(0);
        while (!layers_.empty()) {
            auto taken = layers_.extract(layers_.begin());
            Layer& layer = taken.mapped();
            for (std::size_t i = 0; i < layer.size(); i++) {
                expand(taken.key(), layer.state(i));
                if (late_) {
                    return Seen::late;
                }
                if (!steps_.spend(0)) {
                    return Seen::budget;
                }
            }
            layer.clear();
            spare_.push_back(std::move(layer));
        }
        return Seen::fits;
    }
    const std::vector<Time>& worst() const { return worst_; }

  private:
    // All ways to release jobs now.
    void expand(Time now, const Time* state) {
        may_.clear();
        now_.assign(state, state + width_);
        for (std::size_t i = 0; i < n_; i++) {
            const Time arrival = jobs_.arrival(i, state[i]);
            const Time last = arrival + jobs_.jitter[i];
            if (arrival >= jobs_.end || arrival > now) {
                continue;
            }
            const bool begins = (now - arrival) % apart_[i] == 0;
            if (now == last || (way_.joined && begins && now + apart_[i] > last)) {
                release(now, i);
            } else if (begins) {
                may_.push_back(i);
            }
        }
        if (may_.size() > kOpen) {
            steps_.spend(kMost);
            return;
        }
        const std::vector<Time> base = now_;
        for (std::uint32_t some = 0; some < 1U << may_.size() && !late_; some++) {
            now_ = base;
            for (std::size_t k = 0; k < may_.size(); k++) {
                if ((some >> k & 1U) != 0) {
                    release(now, may_[k]);
                }
            }
            advance(now);
            if (!steps_.spend(width_)) {
                return;
            }
        }
    }

    void release(Time now, std::size_t task) {
        const Time last = jobs_.arrival(task, now_[task]++) + jobs_.jitter[task];
        const Time more = way_.joined ? std::min(apart_[task] - 1, last - now) : 0;
        for (std::size_t x = jobs_.first[task]; x < jobs_.first[task + 1]; x++) {
            now_[n_ + x] = jobs_.nodes[x].most + more;
        }
    }

    // When the segment ends in which the last job was released, which has more than C left.
    Time segment_end(Time now, std::size_t task) const {
        const Time arrival = jobs_.arrival(task, now_[task] - 1);
        const Time segment = (now - arrival) / apart_[task];
        return arrival + std::min(jobs_.jitter[task], (segment + 1) * apart_[task] - 1);
    }

    // Until a job can be released or a node ends.
    void advance(Time now) {
        choose();
        Time until = kNever;
        for (const std::size_t x : running_) {
            until = std::min(until, now + now_[n_ + x]);
        }
        for (std::size_t i = 0; i < n_; i++) {
            const Time arrival = jobs_.arrival(i, now_[i]);
            if (arrival < jobs_.end) {
                const Time passed = arrival > now ? -1 : (now - arrival) / apart_[i];
                until = std::min({until, arrival + (passed + 1) * apart_[i],
                                  std::max(now + 1, arrival + jobs_.jitter[i])});
            }
            if (way_.joined && more_left(i)) {
                until = std::min(until, segment_end(now, i));
            }
        }
        if (until == kNever) {
            return;
        }
        then_ = now_;
        for (const std::size_t x : running_) {
            then_[n_ + x] -= until - now;
        }
        for (std::size_t i = 0; i < n_; i++) {
            if (way_.joined && more_left(i) && until == segment_end(now, i)) {
                then_[n_ + i] = std::min(then_[n_ + i], jobs_.nodes[i].most);
            }
            const Time response = until - jobs_.arrival(i, now_[i] - 1);
            const auto pending = [&](const std::vector<Time>& words) {
                const auto first = words.begin() + static_cast<std::ptrdiff_t>(n_);
                return std::any_of(first + static_cast<std::ptrdiff_t>(jobs_.first[i]),
                                   first + static_cast<std::ptrdiff_t>(jobs_.first[i + 1]),
                                   [](Time left) { return left > 0; });
            };
            if (!pending(now_)) {
                continue;
            }
            const bool still = pending(then_);
            late_ = late_ || response + still > jobs_.tasks[i].deadline;
            if (!still) {
                worst_[i] = std::max(worst_[i], response);
            }
        }
        keep(until);
    }

    // The most urgent nodes that are ready.
    void choose() {
        running_.clear();
        const auto urgency = [&](std::size_t x) {
            const Node& node = jobs_.nodes[x];
            return jobs_.urgency(node, jobs_.arrival(node.task, now_[node.task] - 1));
        };
        for (std::size_t x = 0; x < jobs_.nodes.size(); x++) {
            const auto left = [&](std::size_t before) { return now_[n_ + before] > 0; };
            if (!left(x) || std::ranges::any_of(jobs_.nodes[x].before, left)) {
                continue;
            }
            auto place = running_.end();
            while (place != running_.begin() && urgency(x) < urgency(*(place - 1))) {
                place--;
            }
            running_.insert(place, x);
            running_.resize(std::min(running_.size(), m_));
        }
    }

    bool more_left(std::size_t task) const { return now_[n_ + task] > jobs_.nodes[task].most; }

    void keep(Time now) {
        auto place = layers_.find(now);
        if (place == layers_.end()) {
            if (spare_.empty()) {
                spare_.emplace_back(width_);
            }
            place = layers_.emplace(now, std::move(spare_.back())).first;
            spare_.pop_back();
        }
        steps_.spend(2 * width_);
        place->second.add(then_.data(), jobs_.graphs ? width_ : n_,
                          [this](Time* kept, std::size_t) { return covered(kept); });
    }

    bool covered(Time* kept) {
        steps_.spend(1);
        bool more = true, less = true;
        for (std::size_t k = n_; k < width_; k++) {
            more = more && kept[k] >= then_[k];
            less = less && kept[k] <= then_[k];
        }
        if (!more && (less || way_.joined)) {
            for (std::size_t k = n_; k < width_; k++) {
                kept[k] = std::max(kept[k], then_[k]);
            }
        }
        return more || less || way_.joined;
    }

    static constexpr std::size_t kMost = std::size_t{1} << 62;

    const Jobs& jobs_;
    const Way way_;
    const std::size_t m_, n_, width_;
    // A state: jobs of each task that have been released, and what nodes of the last ones have
    // left.
    std::vector<Time> now_, then_, worst_;
    std::vector<Time> apart_;  // instants of each task's jitter that are tried
    std::map<Time, Layer> layers_;
    std::vector<Layer> spare_;
    std::vector<std::size_t> may_, running_;
    Steps steps_;
    bool late_ = false;
};

template <bool edf>
TestVerdict test(const System& system, const TestOptions& options, std::span<Time> bounds) {
    if ((beyond(system) & kDag) != 0 && (beyond(system) & kShorter) != 0) {
        return not_applicable("beside graphs it ignores bcet");
    }
    Jobs jobs;
    if (const auto made = make(system, options, edf, jobs); made.answer != TestAnswer::accepted) {
        return made;
    }
    const auto explored = [&](const Way& way) {
        Exploration exploration(jobs, system.processors, way);
        const Seen seen = exploration.run();
        if (seen == Seen::fits && (way.joined || way.segments == 0)) {
            std::ranges::copy_n(exploration.worst().begin(),
                                static_cast<std::ptrdiff_t>(bounds.size()), bounds.begin());
        }
        return seen;
    };
    Seen every = explored({0, false, options.budget / kCheap});
    for (Time segments = 1; every == Seen::budget && !jobs.graphs && segments <= kSegments;
         segments *= 2) {
        if (explored({segments, true, options.budget / kOfSegments}) == Seen::fits) {
            return kAccepted;
        }
    }
    if (every == Seen::budget) {
        every = explored({1, false, options.budget}) == Seen::late
                    ? Seen::late
                    : explored({0, false, options.budget});
    }
    return every == Seen::fits   ? kAccepted
           : every == Seen::late ? refuted("a job misses")
                                 : kBudget;
}

constexpr const char* kReference = "Gohari, Voeten and Nasri, ECRTS 2024; Ha and Liu, ICDCS 1994";

const TestRegistrar registrar_fp(info("periodic-fp", "Global fixed priorities, all schedules",
                                      "g-fp+periodic", kReference),
                                 test<false>);
const TestRegistrar registrar_edf(info("periodic-edf", "Global EDF, all schedules",
                                       "g-edf+periodic", kReference),
                                  test<true>);

}  // namespace

}  // namespace deadbeat::sched::preemptive_periodic
