// The multiprocessor priority ceiling protocol: tasks bound to processors, fixed priorities,
// waiters suspend in order of priority, a section on a lock that other processors use runs above
// all others, by the most urgent of their users. Sporadic, D <= T, no section within another.
//
// A section of j takes its length and the longest section of each other task of its processor with
// a ceiling as high. A request of i waits for one less urgent holder, and for ceil(w / T) + 1 jobs
// of each more urgent user, at the least fixed point w. Each time that i comes back, and when it
// arrives, one section of each less urgent task of its processor is ahead. A more urgent task that
// waits has its waiting as jitter, R - C (Chen et al., Real-Time Systems 55, 2019: the original
// analysis, which had less, is flawed).
//
// Virtual spinning: while a task waits, no less urgent one of its processor gets a lock that other
// processors use. Then waiting counts as execution, and less urgent sections are ahead only when i
// arrives.
#include <utility>

#include "pinned.hpp"

namespace deadbeat::sched::mpcp {

namespace {

using namespace analysis;

constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();

class Bound {
  public:
    Bound(const pinned::Tasks& tasks, const TestOptions& options, bool spins)
        : tasks_(tasks),
          steps_(options),
          spins_(spins),
          ceilings_(at(tasks.locks), tasks.arena),
          users_(tasks.arena),
          of_(ceilings_.size(), tasks.arena),
          more_(tasks.arena) {
        for (const Section& section : tasks.system.sections) {
            ceilings_[at(section.lock)].add(urgency(section), home(section));
        }
        users_.reserve(tasks.system.sections.size());
        const auto users = tasks.users();
        for (std::size_t lock = 0; lock < users.size(); lock++) {
            const std::size_t first = users_.size();
            for (const Section& section : users[lock]) {
                users_.push_back({at(section.task), section.count, held(section)});
            }
            of_[lock] = std::span(users_).subspan(first);
        }
    }

    TestVerdict run(std::span<Time> bounds) {
        pinned::Vector<pinned::Delay> delays(tasks_.arena);
        delays.reserve(tasks_.size());
        for (std::size_t i = 0; i < tasks_.size(); i++) {
            const auto found = waiting(i);
            if (!found) {
                return kTooLong;
            }
            delays.push_back(spins_ ? pinned::Delay{arrivals(i), 0, *found}
                                    : pinned::Delay{*found + arrivals(i), *found, 0});
        }
        auto response = tasks_.wcets();
        return pinned::least(
            tasks_, response, bounds, steps_, [&](std::size_t i) { return delays[i]; },
            [](std::size_t, pinned::Due&) {});
    }

  private:
    // The most urgent user of a lock, and of those on other processors.
    struct Ceiling {
        std::int64_t most = kNone, other = kNone;
        std::int32_t home = -1;

        void add(std::int64_t urgency, std::int32_t its) {
            if (its != home && urgency > most) {
                other = std::exchange(most, urgency);
                home = its;
            } else {
                std::int64_t& known = its == home ? most : other;
                known = std::max(known, urgency);
            }
        }
    };

    struct User {
        std::size_t task;
        std::int64_t count;
        Wide held;  // what a section takes once it is
    };

    std::int64_t urgency(const Section& section) const { return tasks_.urgency[at(section.task)]; }
    std::int32_t home(const Section& section) const { return tasks_.home[at(section.task)]; }

    // The most urgent user on other processors; kNone: there is none.
    std::int64_t ceiling(const Section& section) const {
        const Ceiling& its = ceilings_[at(section.lock)];
        return its.home == home(section) ? its.other : its.most;
    }

    Wide held(const Section& section) const {
        const std::int64_t least = std::max(ceiling(section), kNone + 1);
        Wide sum = section.length;
        for (const std::size_t l : tasks_.on[at(home(section))]) {
            if (l != at(section.task)) {
                sum += longest(l, [&](const Section& one) { return ceiling(one) >= least; });
            }
        }
        return sum;
    }

    template <class Wanted>
    Time longest(std::size_t task, Wanted wanted) const {
        const auto found = std::ranges::find_if(tasks_.sections[task], wanted);
        return found == tasks_.sections[task].end() ? 0 : found->length;
    }

    // Of all requests of a job for locks of others.
    std::optional<Wide> waiting(std::size_t i) {
        Wide sum = 0;
        for (const Section& mine : tasks_.sections[i]) {
            if (ceiling(mine) == kNone) {
                continue;
            }
            Wide less = 0;
            more_.clear();
            for (const User& other : of_[at(mine.lock)]) {
                if (other.task == i) {
                    continue;
                }
                if (tasks_.above(other.task, i)) {
                    more_.emplace_back(tasks_.system.tasks[other.task].period,
                                       other.count * other.held);
                } else {
                    less = std::max(less, other.held);
                }
            }
            for (Time w = 1;;) {
                Wide next = less;
                for (const auto& [period, length] : more_) {
                    next += ((w + period - 1) / period + 1) * length;
                }
                if (next <= w) {
                    sum += mine.count * next;
                    break;
                }
                if (next > tasks_.system.tasks[i].deadline || !steps_.spend(more_.size() + 1)) {
                    return std::nullopt;
                }
                w = static_cast<Time>(next);
            }
        }
        return sum;
    }

    Wide arrivals(std::size_t i) const {
        std::int64_t back = 1;
        for (const Section& mine : tasks_.sections[i]) {
            back += ceiling(mine) != kNone && !spins_ ? mine.count : 0;
        }
        Wide sum = 0;
        for (const std::size_t l : tasks_.on[at(tasks_.home[i])]) {
            if (!tasks_.above(l, i)) {
                // Also on a lock of this processor alone that a task at least as urgent as i uses.
                sum += longest(l, [&](const Section& one) {
                    return ceiling(one) != kNone ||
                           ceilings_[at(one.lock)].most >= tasks_.urgency[i];
                });
            }
        }
        return back * sum;
    }

    const pinned::Tasks& tasks_;
    Steps steps_;
    bool spins_;
    pinned::Vector<Ceiling> ceilings_;  // of locks
    pinned::Vector<User> users_;
    pinned::Rows<User> of_;                       // of each lock
    pinned::Vector<std::pair<Time, Wide>> more_;  // of one
};

template <bool spins>
TestVerdict mpcp(const System& system, const TestOptions& options, std::span<Time> bounds) {
    return pinned::bounded<Bound>(system, options, bounds, spins);
}

const TestInfo info{.name = "mpcp",
                    .title = "Multiprocessor priority ceiling protocol",
                    .reference =
                        "Rajkumar, ICDCS 1990; Lakshmanan, de Niz and Rajkumar, RTSS "
                        "2009, with R - C as jitter",
                    .scheduler = "p-fp+mpcp",
                    .model = "sporadic",
                    .ties = "any",
                    .deadlines = "constrained",
                    .kind = TestKind::sufficient,
                    .cost = 17,
                    .models = kLocks,
                    .protocols = "mpcp"};

TestInfo virtual_spin() {
    TestInfo other = info;
    other.name = "mpcp-virtual-spin";
    other.title = "Multiprocessor priority ceiling protocol, virtual spinning";
    other.reference = "Lakshmanan, de Niz and Rajkumar, RTSS 2009";
    other.scheduler = "p-fp+virtual-spin";
    other.protocols = "virtual-spin";
    return other;
}

const TestRegistrar suspending(info, mpcp<false>);
const TestRegistrar spinning(virtual_spin(), mpcp<true>);

}  // namespace

}  // namespace deadbeat::sched::mpcp
