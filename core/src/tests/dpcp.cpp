// The distributed priority ceiling protocol: tasks bound to processors, fixed priorities. Lock i of
// the file is served on processor i modulo m: a section runs there, above all tasks, by the
// priority of who asks for it and the priority ceiling protocol. Sporadic, D <= T, no section
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
#include "queues.hpp"

namespace deadbeat::sched::dpcp {

namespace {

using namespace analysis;

class Bound {
  public:
    Bound(const pinned::Tasks& tasks, const TestOptions& options)
        : tasks_(tasks), steps_(options), queues_(tasks.system), response_(tasks.size()) {
        std::ranges::transform(tasks.system.tasks, response_.begin(), &Task::wcet);
    }

    TestVerdict run(std::span<Time> bounds) {
        std::vector<Wide> remote(tasks_.size());
        for (bool changed = true; changed;) {
            for (std::size_t i = 0; i < tasks_.size(); i++) {
                remote[i] = waiting(i);
            }
            changed = false;
            std::vector<Time> next = response_;
            for (std::size_t i = 0; i < tasks_.size(); i++) {
                const auto found =
                    respond(tasks_, i, remote[i] + served(i), response_, remote, steps_);
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
        return {TestAnswer::accepted, "lock i of the file is served on processor i modulo m"};
    }

  private:
    std::int32_t processor(std::int64_t lock) const {
        return static_cast<std::int32_t>(lock % tasks_.system.processors);
    }

    // What others can ask for by `section` while i is pending.
    Wide requests(std::size_t i, const Section& section) {
        steps_.spend(1);
        return queues_.jobs(i, at(section.task), response_) * section.count;
    }

    Wide served(std::size_t i) {
        Wide sum = 0;
        for (const Section& section : tasks_.system.sections) {
            if (at(section.task) != i && processor(section.lock) == tasks_.home[i]) {
                sum += requests(i, section) * section.length;
            }
        }
        return sum;
    }

    Wide waiting(std::size_t i) {
        std::vector<Wide> mine(at(tasks_.system.processors));
        for (const Section& section : tasks_.sections[i]) {
            mine[at(processor(section.lock))] += section.count;
        }
        mine[at(tasks_.home[i])] = 0;
        Wide sum = 0;
        std::vector<Section> less;
        for (const Section& section : tasks_.system.sections) {
            const auto j = at(section.task);
            if (j == i || mine[at(processor(section.lock))] == 0) {
                continue;
            }
            if (tasks_.above(j, i)) {
                sum += requests(i, section) * section.length;
            } else if (std::ranges::any_of(queues_.of(at(section.lock)), [&](const Section& user) {
                           return tasks_.above(at(user.task), i);
                       })) {
                less.push_back(section);
            }
        }
        std::ranges::sort(less, std::greater(), &Section::length);
        for (const Section& section : less) {
            Wide& left = mine[at(processor(section.lock))];
            const Wide count = std::min(left, requests(i, section));
            sum += count * section.length;
            left -= count;
        }
        return sum;
    }

    const pinned::Tasks& tasks_;
    Steps steps_;
    Queues queues_;
    std::vector<Time> response_;
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
