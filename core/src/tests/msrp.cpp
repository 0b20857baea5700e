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
#include <limits>
#include <utility>

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
          jobs_(tasks.system.tasks, response_),
          locks_(at(tasks.locks)) {
        for (const Task& task : tasks.system.tasks) {
            response_.push_back(task.wcet);
        }
        for (const Section& section : tasks.system.sections) {
            Lock& lock = locks_[at(section.lock)];
            lock.users.push_back(section);
            lock.ceilings.resize(at(tasks.system.processors), kNone);
            std::int64_t& ceiling = lock.ceilings[at(tasks.home[at(section.task)])];
            ceiling = std::max(ceiling, tasks.urgency[at(section.task)]);
        }
        for (Lock& lock : locks_) {
            const auto home = [&](const Section& user) { return tasks.home[at(user.task)]; };
            std::ranges::sort(lock.users, [&](const Section& a, const Section& b) {
                return std::pair(home(a), -a.length) < std::pair(home(b), -b.length);
            });
            lock.remote =
                !lock.users.empty() && home(lock.users.front()) != home(lock.users.back());
            for (std::size_t u = 0; u < lock.users.size(); u++) {
                if (u == 0 || home(lock.users[u]) != home(lock.users[u - 1])) {
                    lock.first.push_back(u);
                    lock.longest += lock.users[u].length;
                }
            }
        }
    }

    TestVerdict run(std::span<Time> bounds) {
        std::vector<Wide> ahead;
        for (std::size_t i = 0; i < tasks_.size(); i++) {
            ahead.push_back(arrivals(i));
        }
        return pinned::least(
            tasks_, response_, bounds, steps_,
            [&](std::size_t i) {
                Wide spins = 0;
                const std::span<const Section> mine = tasks_.sections[i];
                for (auto first = mine.begin(); first != mine.end(); ++first) {
                    const auto same = [&](const Section& one) { return one.lock == first->lock; };
                    const Lock& lock = locks_[at(first->lock)];
                    if (lock.remote && std::none_of(mine.begin(), first, same)) {
                        Wide requests = 0;
                        for (const Section& section : mine) {
                            requests += same(section) ? section.count : 0;
                        }
                        spins += holistic_ ? spin(i, lock, requests) : requests * once(i, lock);
                    }
                }
                return pinned::Delay{ahead[i], 0, spins};
            },
            [&](std::size_t i, std::vector<char>& due) {
                if (holistic_) {
                    jobs_.mark(i, due);
                }
            });
    }

  private:
    static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();

    struct Lock {
        std::vector<Section> users;          // by processor, the longest first
        std::vector<std::size_t> first;      // of each processor
        std::vector<std::int64_t> ceilings;  // of its users on each processor
        Wide longest = 0;                    // the longest section of each processor
        bool remote = false;                 // used by several processors
    };

    // Of one request: the longest section of each other processor.
    Wide once(std::size_t i, const Lock& lock) const {
        Wide sum = lock.longest;
        for (const std::size_t u : lock.first) {
            const Section& section = lock.users[u];
            sum -= tasks_.here(at(section.task), i) ? section.length : 0;
        }
        return sum;
    }

    // Of so many requests of one job: the longest that each other processor can issue meanwhile.
    Wide spin(std::size_t i, const Lock& lock, Wide requests) {
        steps_.spend(lock.users.size());
        Wide sum = 0, left = 0;
        std::int32_t home = -1;
        for (const Section& section : lock.users) {
            const std::int32_t its = tasks_.home[at(section.task)];
            if (its != home) {
                home = its;
                left = home == tasks_.home[i] ? Wide{0} : requests;
            }
            if (left > 0) {
                const Wide count = std::min(left, jobs_.of(i, at(section.task)) * section.count);
                sum += count * section.length;
                left -= count;
            }
        }
        return sum;
    }

    Wide arrivals(std::size_t i) const {
        Wide most = 0;
        for (std::size_t l = 0; l < tasks_.size(); l++) {
            if (l == i || !tasks_.here(l, i) || tasks_.above(l, i)) {
                continue;
            }
            for (const Section& section : tasks_.sections[l]) {
                const Lock& lock = locks_[at(section.lock)];
                if (lock.remote || lock.ceilings[at(tasks_.home[i])] >= tasks_.urgency[i]) {
                    most = std::max(most, section.length + (lock.remote ? once(l, lock) : 0));
                }
            }
        }
        return most;
    }

    const pinned::Tasks& tasks_;
    Steps steps_;
    bool holistic_;
    std::vector<Time> response_;
    pinned::Jobs jobs_;
    std::vector<Lock> locks_;
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
