// FMLP+: tasks bound to processors, fixed priorities, waiters suspend in order of request, who
// holds a lock runs above all others, the earliest request first. Sporadic, D <= T, no section
// within another.
//
// A request is kept by requests that were made before it: for the lock, and for others by tasks of
// the processors where those who hold it run. On a processor as many of i's requests are kept as
// there are requests for their locks, and each by at most one section of each task there. When i
// arrives and each time that it was made to wait one section of each less urgent task of its
// processor is ahead. A more urgent task that waits has its waiting as jitter.
#include "pinned.hpp"

namespace deadbeat::sched::fmlp_plus {

namespace {

using namespace analysis;

class Bound {
  public:
    Bound(const pinned::Tasks& tasks, const TestOptions& options)
        : tasks_(tasks),
          steps_(options),
          response_(tasks.wcets()),
          jobs_(tasks, response_),
          requests_(tasks.requests()),
          users_(tasks.users()),
          kept_(at(tasks.system.processors), tasks.arena) {}

    TestVerdict run(std::span<Time> bounds) {
        return pinned::least(
            tasks_, response_, bounds, steps_,
            [&](std::size_t i) {
                const Wide waits = directly(i);
                Wide remote = 0, local = 0;
                for (std::size_t k = 0; waits > 0 && k < kept_.size(); k++) {
                    for (const std::size_t j : tasks_.on[k]) {
                        remote += longest(i, j, kept_[k]);
                    }
                }
                for (const std::size_t l : tasks_.on[at(tasks_.home[i])]) {
                    local += tasks_.above(l, i) ? 0 : longest(i, l, waits + 1);
                }
                return pinned::Delay{remote + local, remote, 0};
            },
            [&](std::size_t i, pinned::Due& due) { jobs_.mark(i, due); });
    }

  private:
    // The `most` longest sections of j that fall into the response of i.
    Wide longest(std::size_t i, std::size_t j, Wide most) {
        Wide sum = 0;
        for (const Section& section : tasks_.sections[j]) {
            if (most == 0) {
                break;
            }
            const Wide jobs = jobs_.of(i, j), count = std::min(most, jobs * section.count);
            sum += count * section.length;
            most -= count;
        }
        return sum;
    }

    // How often a request of i is kept by one from each processor (`kept_`), and by any.
    Wide directly(std::size_t i) {
        std::ranges::fill(kept_, 0);
        Wide waits = 0;
        for (const auto& [lock, requests] : requests_[i]) {
            const std::span<const Section> users = users_[at(lock)];
            steps_.spend(users.size());
            Wide all = 0;
            for (std::size_t u = 0; u < users.size();) {
                const std::int32_t home = tasks_.home[at(users[u].task)];
                Wide from = 0;
                for (; u < users.size() && tasks_.home[at(users[u].task)] == home; u++) {
                    if (home != tasks_.home[i]) {
                        from += Wide{jobs_.of(i, at(users[u].task))} * users[u].count;
                    }
                }
                kept_[at(home)] += std::min(from, requests);
                all += from;
            }
            waits += std::min(all, requests);
        }
        return waits;
    }

    const pinned::Tasks& tasks_;
    Steps steps_;
    pinned::Vector<Time> response_;
    pinned::Jobs jobs_;
    pinned::Rows<pinned::Requests> requests_;
    pinned::Rows<Section> users_;
    pinned::Vector<Wide> kept_;
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
