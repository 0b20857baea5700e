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
#include "pinned.hpp"

namespace deadbeat::sched::dpcp {

namespace {

using namespace analysis;

class Bound {
  public:
    Bound(const pinned::Tasks& tasks, const TestOptions& options)
        : tasks_(tasks),
          steps_(options),
          response_(tasks.wcets()),
          jobs_(tasks, response_),
          ceilings_(tasks.ceilings()),
          served_(tasks.rows(
              tasks.system.sections, at(tasks.system.processors),
              [m = tasks.system.processors](const Section& one) { return at(one.served_on(m)); },
              [](const Section& a, const Section& b) { return a.length > b.length; })),
          users_(tasks.arena),
          there_(served_.size(), tasks.arena),
          mine_(tasks.size() * served_.size(), tasks.arena) {
        const auto urgent = [&](const User& a, const User& b) {
            return tasks_.urgency[a.task] > tasks_.urgency[b.task];
        };
        pinned::Vector<std::size_t> places(tasks.size(), tasks.arena);
        users_.reserve(tasks.system.sections.size());
        for (std::size_t k = 0; k < served_.size(); k++) {
            const std::size_t first = users_.size();
            for (const Section& section : served_[k]) {
                const std::size_t i = at(section.task);
                Wide& mine = mine_[i * served_.size() + k];
                if (mine == 0) {
                    places[i] = users_.size();
                    users_.push_back({i, 0});
                }
                users_[places[i]].work += Wide{section.count} * section.length;
                mine += section.count;
            }
            std::sort(users_.begin() + static_cast<std::ptrdiff_t>(first), users_.end(), urgent);
            there_[k] = std::span(users_).subspan(first);
        }
    }

    TestVerdict run(std::span<Time> bounds) {
        const TestVerdict found = pinned::least(
            tasks_, response_, bounds, steps_,
            [&](std::size_t i) {
                const std::size_t home = at(tasks_.home[i]);
                Wide remote = 0, here = 0;
                for (std::size_t k = 0; k < served_.size(); k++) {
                    const Wide mine = mine_[i * served_.size() + k];
                    remote += k == home || mine == 0 ? Wide{0} : waiting(i, k, mine);
                }
                for (const auto& [j, work] : there_[home]) {
                    here += jobs_.of(i, j) * work;
                }
                return pinned::Delay{remote + here, remote, 0};
            },
            [&](std::size_t i, pinned::Due& due) { jobs_.mark(i, due); });
        return found.answer == TestAnswer::accepted
                   ? TestVerdict{found.answer,
                                 "a lock without a processor is served on its place "
                                 "in the file modulo m"}
                   : found;
    }

  private:
    struct User {
        std::size_t task;
        Wide work;  // of a job
    };

    // Of so many requests of a job to processor k.
    Wide waiting(std::size_t i, std::size_t k, Wide mine) {
        Wide sum = 0;
        steps_.spend(served_[k].size());
        for (const auto& [j, work] : there_[k]) {
            if (!tasks_.above(j, i)) {
                break;
            }
            sum += jobs_.of(i, j) * work;
        }
        for (const Section& section : served_[k]) {
            const auto j = at(section.task);
            if (ceilings_[at(section.lock)] >= tasks_.urgency[i] && !tasks_.above(j, i)) {
                const Wide count = std::min(mine, Wide{jobs_.of(i, j)} * section.count);
                sum += count * section.length;
                mine -= count;
                if (mine == 0) {
                    break;
                }
            }
        }
        return sum;
    }

    const pinned::Tasks& tasks_;
    Steps steps_;
    pinned::Vector<Time> response_;
    pinned::Jobs jobs_;
    pinned::Vector<std::int64_t> ceilings_;
    pinned::Rows<Section> served_;  // on each processor, the longest first
    pinned::Vector<User> users_;
    pinned::Rows<User> there_;   // of each processor, the most urgent first
    pinned::Vector<Wide> mine_;  // requests of a job of each task to each processor
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
