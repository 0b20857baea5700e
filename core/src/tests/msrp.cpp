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
#include "pinned.hpp"

namespace deadbeat::sched::msrp {

namespace {

using namespace analysis;

class Bound {
  public:
    Bound(const pinned::Tasks& tasks, const TestOptions& options, bool holistic)
        : tasks_(tasks),
          steps_(options),
          holistic_(holistic),
          response_(tasks.wcets()),
          jobs_(tasks, response_, holistic),
          requests_(tasks.requests()),
          users_(tasks.users()),
          ceilings_(tasks.ceilings()),
          spins_(users_.size(), tasks.arena),
          longest_(users_.size() * at(tasks.system.processors), tasks.arena) {
        for (std::size_t lock = 0; lock < users_.size(); lock++) {
            for (const Section& user : users_[lock]) {
                Time& longest = longest_[place(lock, at(user.task))];
                spins_[lock] += longest == 0 ? user.length : 0;
                longest = std::max(longest, user.length);
            }
        }
    }

    TestVerdict run(std::span<Time> bounds) {
        return pinned::least(
            tasks_, response_, bounds, steps_,
            [&](std::size_t i) {
                Wide spins = 0;
                for (const auto& [lock, requests] : requests_[i]) {
                    if (remote(at(lock))) {
                        spins +=
                            holistic_ ? spin(i, at(lock), requests) : requests * once(i, at(lock));
                    }
                }
                return pinned::Delay{arrivals(i), 0, spins};
            },
            [&](std::size_t i, pinned::Due& due) {
                if (holistic_) {
                    jobs_.mark(i, due);
                }
            });
    }

  private:
    std::size_t place(std::size_t lock, std::size_t i) const {
        return lock * at(tasks_.system.processors) + at(tasks_.home[i]);
    }

    // Used by several processors.
    bool remote(std::size_t lock) const {
        const auto users = users_[lock];
        return !tasks_.here(at(users.front().task), at(users.back().task));
    }

    // Of one request: the longest section of each other processor.
    Wide once(std::size_t i, std::size_t lock) const {
        return spins_[lock] - longest_[place(lock, i)];
    }

    // Of so many requests of one job: the longest that each other processor can issue meanwhile.
    Wide spin(std::size_t i, std::size_t lock, Wide requests) {
        steps_.spend(users_[lock].size());
        Wide sum = 0, left = 0;
        std::int32_t home = -1;
        for (const Section& section : users_[lock]) {
            const std::int32_t its = tasks_.home[at(section.task)];
            if (its != home) {
                home = its;
                left = home == tasks_.home[i] ? Wide{0} : requests;
            }
            if (left > 0) {
                const Wide jobs = jobs_.of(i, at(section.task));
                const Wide count = std::min(left, jobs * section.count);
                sum += count * section.length;
                left -= count;
            }
        }
        return sum;
    }

    Wide arrivals(std::size_t i) const {
        Wide most = 0;
        for (const std::size_t l : tasks_.on[at(tasks_.home[i])]) {
            if (tasks_.above(l, i)) {
                continue;
            }
            for (const Section& section : tasks_.sections[l]) {
                const std::size_t lock = at(section.lock);
                if (remote(lock) || ceilings_[lock] >= tasks_.urgency[i]) {
                    most = std::max(most, section.length + (remote(lock) ? once(l, lock) : 0));
                }
            }
        }
        return most;
    }

    const pinned::Tasks& tasks_;
    Steps steps_;
    bool holistic_;
    pinned::Vector<Time> response_;
    pinned::Jobs jobs_;
    pinned::Rows<pinned::Requests> requests_;
    pinned::Rows<Section> users_;
    pinned::Vector<std::int64_t> ceilings_;
    pinned::Vector<Wide> spins_;    // of each lock, the longest section of each processor
    pinned::Vector<Time> longest_;  // on each lock of those of each processor
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
