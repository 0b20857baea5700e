// The distributed priority ceiling protocol: tasks bound to processors, fixed priorities. A lock is
// served on a processor of its own (`Section::server`): a section runs there, above all tasks, by
// the priority of who asks for it and the priority ceiling protocol. Sporadic, D <= T, no section
// within another.
//
// On each other processor that serves i, all sections there of more urgent tasks that can be asked
// for while i is pending are ahead, and for each request of i one of a less urgent task on a lock
// with a ceiling as urgent. All sections of others served on i's own processor are ahead of i. A
// task that is served elsewhere has its waiting as jitter, R - C.
//
// C contains a task's own sections, as everywhere in the file: as work on its own processor they
// are counted where they need not be, and with z = x + R - C and n = ceil(z / T) the work there of
// C - S in each job is at most n (C - S) + S <= n C.
#include <limits>

#include "pinned.hpp"

namespace deadbeat::sched::dpcp {

namespace {

using namespace analysis;

class Bound {
  public:
    Bound(const pinned::Tasks& tasks, const TestOptions& options)
        : tasks_(tasks),
          steps_(options),
          jobs_(tasks.system.tasks, response_),
          served_(at(tasks.system.processors)),
          mine_(tasks.size() * served_.size()) {
        std::vector<std::int64_t> ceiling(at(tasks.locks),
                                          std::numeric_limits<std::int64_t>::min());
        for (const Section& section : tasks.system.sections) {
            std::int64_t& its = ceiling[at(section.lock)];
            its = std::max(its, tasks.urgency[at(section.task)]);
        }
        std::vector<Wide> work(served_.size());
        for (std::size_t i = 0; i < tasks.size(); i++) {
            response_.push_back(tasks.system.tasks[i].wcet);
            std::ranges::fill(work, 0);
            for (const Section& section : tasks.sections[i]) {
                const std::size_t k = processor(section);
                mine_[i * served_.size() + k] += section.count;
                work[k] += Wide{section.count} * section.length;
                served_[k].sections.push_back({section, ceiling[at(section.lock)]});
            }
            for (std::size_t k = 0; k < work.size(); k++) {
                if (work[k] > 0) {
                    served_[k].users.push_back({i, work[k]});
                }
            }
        }
        for (Served& served : served_) {
            std::ranges::sort(served.sections, std::greater(),
                              [](const Ceiling& each) { return each.section.length; });
        }
    }

    TestVerdict run(std::span<Time> bounds) {
        const TestVerdict found = pinned::least(
            tasks_, response_, bounds, steps_,
            [&](std::size_t i) {
                Wide remote = 0;
                for (std::size_t k = 0; k < served_.size(); k++) {
                    remote += k == at(tasks_.home[i]) ? Wide{0} : waiting(i, k);
                }
                return pinned::Delay{remote + here(i), remote, 0};
            },
            [&](std::size_t i, std::vector<char>& due) { jobs_.mark(i, due); });
        return found.answer == TestAnswer::accepted
                   ? TestVerdict{found.answer,
                                 "a lock without a processor is served on its place "
                                 "in the file modulo m"}
                   : found;
    }

  private:
    std::size_t processor(const Section& section) const {
        return at(section.served_on(tasks_.system.processors));
    }

    Wide here(std::size_t i) {
        Wide sum = 0;
        for (const auto& [j, work] : served_[at(tasks_.home[i])].users) {
            sum += jobs_.of(i, j) * work;
        }
        return sum;
    }

    // On processor k.
    Wide waiting(std::size_t i, std::size_t k) {
        Wide mine = mine_[i * served_.size() + k], sum = 0;
        if (mine == 0) {
            return 0;
        }
        steps_.spend(served_[k].sections.size());
        for (const auto& [j, work] : served_[k].users) {
            sum += tasks_.above(j, i) ? jobs_.of(i, j) * work : Wide{0};
        }
        for (const auto& [section, ceiling] : served_[k].sections) {
            const auto j = at(section.task);
            if (ceiling >= tasks_.urgency[i] && !tasks_.above(j, i)) {
                const Wide count = std::min(mine, jobs_.of(i, j) * section.count);
                sum += count * section.length;
                mine -= count;
                if (mine == 0) {
                    break;
                }
            }
        }
        return sum;
    }

    struct User {
        std::size_t task;
        Wide work;  // of a job
    };
    struct Ceiling {
        Section section;
        std::int64_t ceiling;
    };
    struct Served {
        std::vector<User> users;
        std::vector<Ceiling> sections;  // the longest first
    };

    const pinned::Tasks& tasks_;
    Steps steps_;
    std::vector<Time> response_;
    pinned::Jobs jobs_;
    std::vector<Served> served_;  // on each processor
    std::vector<Wide> mine_;      // requests of a job of each task to each processor
};

TestVerdict dpcp(const System& system, const TestOptions& options, std::span<Time> bounds) {
    return pinned::bounded<Bound>(system, options, bounds);
}

const TestRegistrar registrar({.name = "dpcp",
                               .title = "Distributed priority ceiling protocol",
                               .reference = "Rajkumar, Synchronization in Real-Time Systems, 1991, "
                                            "with R - C as jitter",
                               .scheduler = "p-fp+dpcp",
                               .model = "sporadic",
                               .ties = "any",
                               .deadlines = "constrained",
                               .kind = TestKind::sufficient,
                               .cost = 17,
                               .models = kLocks,
                               .protocols = "dpcp"},
                              dpcp);

}  // namespace

}  // namespace deadbeat::sched::dpcp
