// FMLP+: tasks bound to processors, fixed priorities, waiters suspend in order of request, who
// holds a lock runs above all others, the earliest request first. Sporadic, D <= T, no section
// within another.
//
// A request waits for requests that were made before it: for the lock, and for others by tasks of
// the processors where those who hold it run, so for at most one of each task there, of those that
// it can issue while i is pending. When i arrives and each time that it was made to wait one
// section of each less urgent task of its processor is ahead. A more urgent task that waits has its
// waiting as jitter.
#include "pinned.hpp"

namespace deadbeat::sched::fmlp_plus {

namespace {

using namespace analysis;

class Bound {
  public:
    Bound(const pinned::Tasks& tasks, const TestOptions& options) : tasks_(tasks), steps_(options) {
        for (const Task& task : tasks.system.tasks) {
            response_.push_back(task.wcet);
        }
    }

    TestVerdict run(std::span<Time> bounds) {
        std::vector<Wide> remote(tasks_.size());
        for (bool changed = true; changed;) {
            std::vector<Wide> blocking;
            for (std::size_t i = 0; i < tasks_.size(); i++) {
                std::int64_t waits = 0;
                remote[i] = waiting(i, waits);
                blocking.push_back(remote[i] + arrivals(i, waits));
            }
            changed = false;
            std::vector<Time> next = response_;
            for (std::size_t i = 0; i < tasks_.size(); i++) {
                const auto found = respond(tasks_, i, blocking[i], response_, remote, steps_);
                if (!found) {
                    return steps_.spend(1) ? kTooLong : kBudget;
                }
                changed = changed || *found != response_[i];
                next[i] = *found;
            }
            response_ = std::move(next);
        }
        if (!bounds.empty()) {
            std::ranges::copy(response_, bounds.begin());
        }
        return kAccepted;
    }

  private:
    // Sections of `j` that fall into the response of i, longest first: `most` of them.
    Wide longest(std::size_t i, std::size_t j, std::optional<std::int64_t> lock, Wide most,
                 std::int64_t& taken) const {
        const Time period = tasks_.system.tasks[j].period;
        const Wide jobs = (response_[i] + response_[j] + period - 1) / period;
        Wide sum = 0;
        for (const Section& section : tasks_.sections[j]) {
            if (lock && section.lock != *lock) {
                continue;
            }
            const Wide count = std::min(most, jobs * section.count);
            sum += count * section.length;
            most -= count;
            taken += static_cast<std::int64_t>(count);
        }
        return sum;
    }

    Wide waiting(std::size_t i, std::int64_t& waits) const {
        Wide sum = 0;
        std::vector<std::int64_t> requests(at(tasks_.locks));
        for (const Section& mine : tasks_.sections[i]) {
            requests[at(mine.lock)] += mine.count;
        }
        // By task: how many of my requests it may keep with a section of whatever lock.
        std::vector<std::int64_t> kept(tasks_.size());
        for (std::size_t lock = 0; lock < requests.size(); lock++) {
            std::vector<bool> holds(at(tasks_.system.processors));
            for (const Section& other : tasks_.system.sections) {
                if (at(other.lock) == lock && !tasks_.here(i, at(other.task))) {
                    holds[at(tasks_.home[at(other.task)])] = true;
                }
            }
            std::int64_t direct = 0;
            for (std::size_t j = 0; j < tasks_.size(); j++) {
                if (holds[at(tasks_.home[j])]) {
                    kept[j] += requests[lock];
                    longest(i, j, static_cast<std::int64_t>(lock), requests[lock], direct);
                }
            }
            waits += std::min(direct, requests[lock]);
        }
        for (std::size_t j = 0; j < tasks_.size(); j++) {
            std::int64_t taken = 0;
            sum += longest(i, j, std::nullopt, kept[j], taken);
        }
        return sum;
    }

    Wide arrivals(std::size_t i, std::int64_t waits) const {
        std::int64_t requests = 0, taken = 0;
        for (const Section& mine : tasks_.sections[i]) {
            requests += mine.count;
        }
        Wide sum = 0;
        for (std::size_t l = 0; l < tasks_.size(); l++) {
            if (l != i && tasks_.here(l, i) && !tasks_.above(l, i)) {
                sum += longest(i, l, std::nullopt, std::min(requests, waits) + 1, taken);
            }
        }
        return sum;
    }

    const pinned::Tasks& tasks_;
    Steps steps_;
    std::vector<Time> response_;
};

TestVerdict fmlp_plus(const System& system, const TestOptions& options, std::span<Time> bounds) {
    return pinned::bounded<Bound>(system, options, bounds);
}

const TestRegistrar registrar({.name = "fmlp-plus",
                               .title = "FMLP+, locks in order of request, holders boosted",
                               .reference = "Brandenburg, PhD thesis, UNC Chapel Hill, 2011",
                               .scheduler = "p-fp+fmlp+",
                               .model = "sporadic",
                               .ties = "any",
                               .deadlines = "constrained",
                               .kind = TestKind::sufficient,
                               .cost = 18,
                               .models = kLocks,
                               .protocols = "fmlp+"},
                              fmlp_plus);

}  // namespace

}  // namespace deadbeat::sched::fmlp_plus
