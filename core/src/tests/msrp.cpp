// The multiprocessor stack resource policy: tasks bound to processors, fixed priorities. Who wants
// a lock that other processors use spins for it in order of request, and is not preempted until
// it gives the lock back; other locks are under the stack resource policy. Sporadic, D <= T, no
// section within another.
//
// A request spins for at most one section of each other processor: for the longest on the lock
// (classic), or for the longest of those that its tasks can issue while i is pending (holistic; the
// least joint fixed point of all responses). Spinning is execution. When i arrives, one section of
// a less urgent task of its processor is ahead: with its spinning on a lock of several processors,
// alone on one with a ceiling as urgent.
#include <utility>

#include "pinned.hpp"
#include "queues.hpp"

namespace deadbeat::sched::msrp {

namespace {

using namespace analysis;

class Bound {
  public:
    Bound(const pinned::Tasks& tasks, const TestOptions& options, bool holistic)
        : tasks_(tasks),
          steps_(options),
          holistic_(holistic),
          queues_(tasks.system),
          response_(tasks.size()),
          remote_(queues_.locks()) {
        std::ranges::transform(tasks.system.tasks, response_.begin(), &Task::wcet);
        for (const Section& section : tasks.system.sections) {
            const Section& first = queues_.of(at(section.lock)).front();
            if (!tasks.here(at(section.task), at(first.task))) {
                remote_[at(section.lock)] = true;
            }
        }
    }

    TestVerdict run(std::span<Time> bounds) {
        const std::vector<Wide> waits(tasks_.size());
        for (bool changed = true; changed;) {
            std::vector<Wide> spins;
            for (std::size_t i = 0; i < tasks_.size(); i++) {
                spins.push_back(0);
                for (std::size_t lock = 0; lock < queues_.locks(); lock++) {
                    spins.back() += spin(i, lock, queues_.requests(i, lock));
                }
            }
            changed = false;
            std::vector<Time> next = response_;
            for (std::size_t i = 0; i < tasks_.size(); i++) {
                const auto found = respond(tasks_, i, arrivals(i), response_, waits, steps_, spins);
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
    // Of so many requests of one job.
    Wide spin(std::size_t i, std::size_t lock, Wide requests) {
        if (requests == 0 || !remote_[lock]) {
            return 0;
        }
        steps_.spend(queues_.of(lock).size());
        std::vector<Wide> left(at(tasks_.system.processors), requests);
        left[at(tasks_.home[i])] = 0;
        if (holistic_) {
            return queues_.wait(i, lock, response_, tasks_.home, left, requests);
        }
        Wide sum = 0;
        for (const Section& section : queues_.of(lock)) {
            sum += std::exchange(left[at(tasks_.home[at(section.task)])], 0) * section.length;
        }
        return sum;
    }

    Wide arrivals(std::size_t i) {
        Wide most = 0;
        for (std::size_t l = 0; l < tasks_.size(); l++) {
            if (l == i || !tasks_.here(l, i) || tasks_.above(l, i)) {
                continue;
            }
            for (const Section& section : tasks_.sections[l]) {
                steps_.spend(1);
                if (remote_[at(section.lock)] || reaches(at(section.lock), i)) {
                    most = std::max(most, section.length + spin(l, at(section.lock), 1));
                }
            }
        }
        return most;
    }

    // Whether a task at least as urgent as i uses the lock.
    bool reaches(std::size_t lock, std::size_t i) const {
        return std::ranges::any_of(queues_.of(lock), [&](const Section& section) {
            return tasks_.above(at(section.task), i);
        });
    }

    const pinned::Tasks& tasks_;
    Steps steps_;
    bool holistic_;
    Queues queues_;
    std::vector<Time> response_;
    std::vector<bool> remote_;  // used by several processors
};

template <bool holistic>
TestVerdict msrp(const System& system, const TestOptions& options, std::span<Time> bounds) {
    return pinned::bounded<Bound>(system, options, bounds, holistic);
}

const TestInfo info{.name = "msrp",
                    .title = "Multiprocessor stack resource policy, locks in order of request",
                    .reference = "Gai, Lipari and di Natale, RTSS 2001",
                    .scheduler = "p-fp+msrp",
                    .model = "sporadic",
                    .ties = "any",
                    .deadlines = "constrained",
                    .kind = TestKind::sufficient,
                    .cost = 16,
                    .models = kLocks,
                    .protocols = "msrp"};

TestInfo holistic() {
    TestInfo other = info;
    other.name = "msrp-holistic";
    other.title = "Multiprocessor stack resource policy, by what others can request meanwhile";
    other.reference = "Brandenburg, PhD thesis, UNC Chapel Hill, 2011";
    other.cost = 17;
    return other;
}

const TestRegistrar classic_registrar(info, msrp<false>);
const TestRegistrar holistic_registrar(holistic(), msrp<true>);

}  // namespace

}  // namespace deadbeat::sched::msrp
