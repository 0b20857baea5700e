// Draws jobs and what they do.
#include <algorithm>
#include <utility>

#include "deadbeat/sched/locks_sim.hpp"
#include "deadbeat/sched/random.hpp"
#include "locks_protocols.hpp"

namespace deadbeat::sched::locks {

namespace {

// Draws jobs and what they do; buffers are kept from one job to the next.
class Drawer {
  public:
    Drawer(const System& system, const Drawing& drawing, std::uint64_t number, Pattern& pattern)
        : system_(system), drawing_(drawing), random_(drawing.seed, number), pattern_(pattern) {}

    void run() {
        pattern_.jobs.clear();
        pattern_.parts.clear();
        pattern_.follows.clear();
        const std::uint64_t start = random_.below(4);  // 0: all together, 1: least urgent first
        const bool delays = chance(2);
        const bool late = chance(2);  // the first job as late after its arrival as it may be
        Time most = 0;
        for (const Extra& extra : system_.extras) {
            most = std::max(most, extra.jitter);
        }
        std::vector<std::pair<Job, std::int64_t>> drawn;
        for (std::size_t i = 0; i < system_.tasks.size(); i++) {
            if (!details_of(system_, i, DetailKind::trigger).empty()) {
                continue;
            }
            const Task& task = system_.tasks[i];
            const Time window = drawing_.window > 0 ? drawing_.window : task.period - 1;
            Time arrival = start == 0 ? 0 : below(window + 1);
            if (start == 1) {
                arrival = least(i) ? 0 : below(std::min<Time>(window, 3) + 1);
            }
            const Time jitter = system_.extra(i).jitter;
            arrival += late && start <= 1 ? most - jitter : 0;  // released together
            bool first = true;
            std::int64_t rank = 0;
            for (Time before = 0; arrival <= drawing_.horizon || first;) {
                const Time lag = first && late ? jitter : late ? 0 : below(jitter + 1);
                // Of one instant the less urgent ones first, or in any order; a task's in theirs.
                if (first || arrival + lag > before) {
                    rank =
                        start <= 1 ? task.priority : static_cast<std::int64_t>(random_.bits() >> 2);
                }
                before = std::max(before, arrival + lag);
                drawn.push_back({{static_cast<std::int64_t>(i), arrival, before}, rank});
                arrival += task.period + (delays && chance(3) ? below(task.period / 2 + 1) : 0);
                first = false;
            }
        }
        std::ranges::stable_sort(
            drawn, {}, [](const auto& each) { return std::pair{each.first.release, each.second}; });
        for (const auto& [job, rank] : drawn) {
            parts(at(job.task), static_cast<std::int64_t>(pattern_.jobs.size()));
            pattern_.jobs.push_back(job);
        }
        for (std::size_t k = 0; k < pattern_.jobs.size(); k++) {
            const Job before = pattern_.jobs[k];
            for (const Detail& each : system_.details) {
                if (each.kind == DetailKind::trigger && each.a == before.task) {
                    pattern_.follows.emplace_back(k, pattern_.jobs.size());
                    parts(at(each.task), static_cast<std::int64_t>(pattern_.jobs.size()));
                    pattern_.jobs.push_back({each.task, before.arrival, kNever});
                }
            }
        }
    }

  private:
    Time below(Time bound) {
        return static_cast<Time>(random_.below(static_cast<std::uint64_t>(bound)));
    }
    bool chance(std::uint64_t of) { return random_.below(of) == 0; }

    // The least urgent task of its processor.
    bool least(std::size_t i) const {
        return std::ranges::none_of(system_.tasks, [&](const Task& other) {
            return home(other) == home(system_.tasks[i]) &&
                   other.priority < system_.tasks[i].priority;
        });
    }

    void add(std::int64_t job, std::int64_t what, Time length) {
        if (length > 0) {
            pattern_.parts.push_back({job, what, length});
        }
    }

    // Sections and suspensions in any order, what is left of the wcet between them.
    void parts(std::size_t i, std::int64_t job) {
        const Task& task = system_.tasks[i];
        const Extra extra = system_.extra(i);
        Time rest = task.wcet;
        pieces_.clear();
        for (const Section& section : system_.sections) {
            if (at(section.task) != i) {
                continue;
            }
            for (std::int64_t n = 0; n < section.count; n++) {
                if (rest >= section.length) {
                    rest -= section.length;
                    pieces_.emplace_back(section.lock, section.length);
                }
            }
        }
        if (extra.suspension > 0) {
            const Time part = chance(2) ? extra.suspension : below(extra.suspension + 1);
            pieces_.emplace_back(kSuspend, part);
            pieces_.emplace_back(kSuspend, extra.suspension - part);
        }
        for (std::size_t n = pieces_.size(); n > 1; n--) {
            std::swap(pieces_[n - 1], pieces_[random_.below(n)]);
        }
        if (std::max(extra.np_max, extra.np_last) > 1 && pieces_.empty()) {
            return stretches(job, rest, extra);
        }
        const Time last = extra.np_last > 1 ? extra.np_last : 0;  // see refusal()
        rest -= last;
        const std::uint64_t kind = random_.below(8);  // 0: all before, 1: all after, 2: less
        if (kind == 2 && rest > 0 && !pieces_.empty()) {
            rest = below(rest + 1);
        }
        cuts_.assign(pieces_.size() + 1, rest);
        for (std::size_t n = 0; n < pieces_.size() && kind > 0; n++) {
            cuts_[n] = kind == 1 ? 0 : below(rest + 1);
        }
        std::ranges::sort(cuts_);
        Time before = 0;
        for (std::size_t n = 0; n < cuts_.size(); n++) {
            computes(job, cuts_[n] - before, extra.np_max);
            before = cuts_[n];
            if (n < pieces_.size()) {
                add(job, pieces_[n].first, pieces_[n].second);
            }
        }
        add(job, kStretch, last);
    }

    void computes(std::int64_t job, Time length, Time longest) {
        while (longest > 1 && length > 0 && !chance(3)) {
            const Time part = std::min(length, chance(2) ? longest : below(longest) + 1);
            add(job, kStretch, part);
            length -= part;
        }
        add(job, kCompute, length);
    }

    // As long as may be, or any.
    void stretches(std::int64_t job, Time rest, const Extra& extra) {
        const Time longest = std::max<Time>(extra.np_max, 1);
        const Time last = std::min(rest, extra.np_last > 0 ? extra.np_last : longest);
        const bool full = chance(2);
        for (rest -= last; rest > 0;) {
            const Time most = std::min(rest, longest);
            const Time length = full ? most : below(most) + 1;
            add(job, kStretch, length);
            rest -= length;
        }
        add(job, kStretch, last);
    }

    const System& system_;
    const Drawing& drawing_;
    Random random_;
    Pattern& pattern_;
    std::vector<std::pair<std::int64_t, Time>> pieces_;
    std::vector<Time> cuts_;
};

}  // namespace

void draw(const System& system, const Drawing& drawing, std::uint64_t number, Pattern& pattern) {
    Drawer(system, drawing, number, pattern).run();
}

}  // namespace deadbeat::sched::locks
