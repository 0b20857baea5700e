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
          jobs_(tasks.system.tasks, response_),
          users_(at(tasks.locks)),
          there_(at(tasks.system.processors)) {
        for (std::size_t i = 0; i < tasks.size(); i++) {
            response_.push_back(tasks.system.tasks[i].wcet);
            if (!tasks.sections[i].empty()) {
                there_[at(tasks.home[i])].push_back(i);
            }
        }
        for (const Section& section : tasks.system.sections) {
            users_[at(section.lock)].push_back(&section);
        }
        for (auto& users : users_) {
            std::ranges::sort(users, {},
                              [&](const Section* user) { return tasks_.home[at(user->task)]; });
        }
    }

    TestVerdict run(std::span<Time> bounds) {
        std::vector<Wide> kept(at(tasks_.system.processors));
        return pinned::least(
            tasks_, response_, bounds, steps_,
            [&](std::size_t i) {
                const Wide waits = directly(i, kept);
                Wide remote = 0;
                for (std::size_t k = 0; k < kept.size(); k++) {
                    if (kept[k] > 0) {
                        for (const std::size_t j : there_[k]) {
                            remote += longest(i, j, kept[k]);
                        }
                    }
                }
                return pinned::Delay{remote + arrivals(i, waits), remote, 0};
            },
            [&](std::size_t i, std::vector<char>& due) { jobs_.mark(i, due); });
    }

  private:
    // The `most` longest sections of j that fall into the response of i.
    Wide longest(std::size_t i, std::size_t j, Wide most) {
        const Wide jobs = jobs_.of(i, j);
        Wide sum = 0;
        for (const Section& section : tasks_.sections[j]) {
            const Wide count = std::min(most, jobs * section.count);
            sum += count * section.length;
            most -= count;
        }
        return sum;
    }

    // How often a request of i is kept by one from each processor (`kept`), and by any.
    Wide directly(std::size_t i, std::vector<Wide>& kept) {
        std::ranges::fill(kept, 0);
        Wide waits = 0;
        const std::span<const Section> mine = tasks_.sections[i];
        for (auto first = mine.begin(); first != mine.end(); ++first) {
            const auto same = [&](const Section& one) { return one.lock == first->lock; };
            if (std::any_of(mine.begin(), first, same)) {
                continue;
            }
            Wide requests = 0;
            for (const Section& section : mine) {
                requests += same(section) ? section.count : 0;
            }
            const auto& users = users_[at(first->lock)];
            steps_.spend(users.size());
            Wide all = 0;
            for (std::size_t u = 0; u < users.size();) {
                const std::int32_t home = tasks_.home[at(users[u]->task)];
                Wide from = 0;
                for (; u < users.size() && tasks_.home[at(users[u]->task)] == home; u++) {
                    if (home != tasks_.home[i]) {
                        from += jobs_.of(i, at(users[u]->task)) * users[u]->count;
                    }
                }
                kept[at(home)] += std::min(from, requests);
                all += from;
            }
            waits += std::min(all, requests);
        }
        return waits;
    }

    Wide arrivals(std::size_t i, Wide waits) {
        Wide sum = 0;
        for (const std::size_t l : there_[at(tasks_.home[i])]) {
            if (l != i && !tasks_.above(l, i)) {
                sum += longest(i, l, waits + 1);
            }
        }
        return sum;
    }

    const pinned::Tasks& tasks_;
    Steps steps_;
    std::vector<Time> response_;
    pinned::Jobs jobs_;
    std::vector<std::vector<const Section*>> users_;  // of each lock, by processor
    std::vector<std::vector<std::size_t>> there_;     // those with sections on each processor
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
