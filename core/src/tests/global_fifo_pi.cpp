// Global fixed priorities, mutexes with priority inheritance and queues by priority: SCHED_FIFO
// without affinities, if the kernel's push and pull were instant. Sporadic, D <= T, no section
// within another.
//
// A request of i waits for one section of a less urgent holder, and for the sections on i's locks
// of more urgent tasks, by their work in D. Less urgent tasks run above i in sections on locks of
// more urgent tasks: their work in D, shared by the processors, as is the rest of more urgent work
// in R (Bertogna and Cirinei, RTSS 2007). The m most urgent tasks have none of that: who inherits a
// priority above theirs has it from a task that waits.
#include <set>

#include "../fixed_priority.hpp"
#include "queues.hpp"

namespace deadbeat::sched::global_fifo_pi {

namespace {

using namespace analysis;

// Of jobs of `task` that take `amount` each and end by `response`, in any window of x.
Wide work(const Task& task, Wide amount, Wide response, Wide x) {
    const Wide span = x + response - amount;
    const Wide jobs = span / task.period;
    return jobs * amount + std::min(amount, span - jobs * task.period);
}

class Bound {
  public:
    Bound(const System& system, const TestOptions& options, std::vector<std::int64_t> levels)
        : system_(system), steps_(options), levels_(std::move(levels)), queues_(system) {
        for (const Task& task : system.tasks) {
            response_.push_back(task.deadline);
        }
    }

    TestVerdict run(std::span<Time> bounds) {
        std::vector<std::size_t> order;
        for (std::size_t i = 0; i < system_.tasks.size(); i++) {
            order.push_back(i);
        }
        std::ranges::stable_sort(order, std::less(), [&](std::size_t i) { return levels_[i]; });
        for (const std::size_t i : order) {
            const auto found = respond(i);
            if (!found) {
                return steps_.spend(1) ? kTooLong : kBudget;
            }
            response_[i] = *found;
        }
        if (!bounds.empty()) {
            std::ranges::copy(response_, bounds.begin());
        }
        return kAccepted;
    }

  private:
    bool above(std::size_t j, std::size_t i) const { return j != i && levels_[j] <= levels_[i]; }

    // Sections of j in the window D of i, of its locks in `locks`.
    Wide sections(std::size_t i, std::size_t j, const std::set<std::int64_t>& locks) const {
        Wide sum = 0;
        for (const Section& section : system_.sections) {
            if (at(section.task) == j && locks.contains(section.lock)) {
                sum += Wide{section.count} * section.length;
            }
        }
        const Task& other = system_.tasks[j];
        return work(other, sum, other.deadline, system_.tasks[i].deadline);
    }

    std::optional<Time> respond(std::size_t i) {
        std::set<std::int64_t> mine, raising;
        Wide fixed = system_.tasks[i].wcet;
        for (const Section& section : system_.sections) {
            if (above(at(section.task), i)) {
                raising.insert(section.lock);
            }
            if (at(section.task) == i) {
                mine.insert(section.lock);
                Time held = 0;
                for (const Section& other : queues_.of(at(section.lock))) {
                    const auto l = at(other.task);
                    held = std::max(held, l != i && !above(l, i) ? other.length : 0);
                }
                fixed += Wide{section.count} * held;
            }
        }
        std::vector<std::size_t> more;
        Wide direct = 0, raised = 0;
        for (std::size_t j = 0; j < system_.tasks.size(); j++) {
            if (!steps_.spend(system_.sections.size() + 1)) {
                return std::nullopt;
            }
            if (above(j, i)) {
                more.push_back(j);
                direct += sections(i, j, mine);
            } else if (j != i) {
                raised += sections(i, j, raising);
            }
        }
        fixed += direct;
        const Wide m = system_.processors;
        const bool shares = at(system_.processors) <= more.size();
        fixed += shares ? (raised + m - 1) / m : 0;
        Wide x = fixed;
        while (x <= system_.tasks[i].deadline && steps_.spend(more.size() + 1)) {
            Wide sum = -direct;
            for (const std::size_t j : more) {
                sum += work(system_.tasks[j], system_.tasks[j].wcet, response_[j], x);
            }
            const Wide next = fixed + (shares && sum > 0 ? sum / m : 0);
            if (next <= x) {
                return static_cast<Time>(x);
            }
            x = next;
        }
        return std::nullopt;
    }

    const System& system_;
    Steps steps_;
    std::vector<std::int64_t> levels_;
    Queues queues_;
    std::vector<Time> response_;
};

TestVerdict global_fifo_pi(const System& system, const TestOptions& options,
                           std::span<Time> bounds) {
    if (!constrained(system)) {
        return kNotConstrained;
    }
    if (!fits_deadlines(system.tasks)) {
        return kTooLong;
    }
    auto levels = priority_levels(system, options.priorities);
    return levels ? Bound(system, options, std::move(*levels)).run(bounds) : kUnknownOrder;
}

const TestRegistrar registrar({.name = "global-fifo-pi",
                               .title = "Global fixed priorities, mutexes with inheritance",
                               .reference = "Easwaran and Andersson, RTSS 2009",
                               .scheduler = "g-fp+inherit",
                               .model = "sporadic",
                               .ties = "any",
                               .deadlines = "constrained",
                               .kind = TestKind::sufficient,
                               .cost = 17,
                               .whole_instants = true,
                               .models = kLocks,
                               .protocols = "inherit"},
                              global_fifo_pi);

}  // namespace

}  // namespace deadbeat::sched::global_fifo_pi
