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
          ceiling_(at(tasks.locks), std::vector<std::int64_t>(at(tasks.system.processors), kNone)) {
        for (std::size_t lock = 0; lock < ceiling_.size(); lock++) {
            for (std::size_t k = 0; k < ceiling_[lock].size(); k++) {
                ceiling_[lock][k] = outside(lock, k);
            }
        }
        for (std::size_t i = 0; i < tasks.size(); i++) {
            response_.push_back(tasks.system.tasks[i].wcet);
        }
    }

    TestVerdict run(std::span<Time> bounds) {
        std::vector<pinned::Delay> delays;
        for (std::size_t i = 0; i < tasks_.size(); i++) {
            const auto found = waiting(i);
            if (!found) {
                return kTooLong;
            }
            delays.push_back(spins_ ? pinned::Delay{arrivals(i), 0, *found}
                                    : pinned::Delay{*found + arrivals(i), *found, 0});
        }
        return pinned::least(
            tasks_, response_, bounds, steps_, [&](std::size_t i) { return delays[i]; },
            [](std::size_t, std::vector<char>&) {});
    }

  private:
    // Most urgent user of `lock` on other processors than `k`.
    std::int64_t outside(std::size_t lock, std::size_t k) const {
        std::int64_t most = kNone;
        for (const Section& section : tasks_.system.sections) {
            if (at(section.lock) == lock && at(tasks_.home[at(section.task)]) != k) {
                most = std::max(most, tasks_.urgency[at(section.task)]);
            }
        }
        return most;
    }

    std::int64_t ceiling(const Section& section) const {
        return ceiling_[at(section.lock)][at(tasks_.home[at(section.task)])];
    }

    // What a section takes once it is held.
    Wide held(const Section& section) const {
        const auto j = at(section.task);
        Wide sum = section.length;
        for (std::size_t l = 0; l < tasks_.size(); l++) {
            Time longest = 0;
            for (const Section& other : tasks_.sections[l]) {
                if (l != j && tasks_.here(l, j) && ceiling(other) != kNone &&
                    ceiling(other) >= ceiling(section)) {
                    longest = std::max(longest, other.length);
                }
            }
            sum += longest;
        }
        return sum;
    }

    // Of all requests of a job for locks of others.
    std::optional<Wide> waiting(std::size_t i) {
        Wide sum = 0;
        for (const Section& mine : tasks_.sections[i]) {
            if (ceiling(mine) == kNone) {
                continue;
            }
            Wide less = 0;
            std::vector<std::pair<const Section*, Wide>> more;
            for (const Section& other : tasks_.system.sections) {
                const auto j = at(other.task);
                if (other.lock != mine.lock || j == i) {
                    continue;
                }
                if (tasks_.above(j, i)) {
                    more.emplace_back(&other, held(other));
                } else {
                    less = std::max(less, held(other));
                }
            }
            for (Wide w = 1;;) {
                Wide next = less;
                for (const auto& [other, length] : more) {
                    const Time period = tasks_.system.tasks[at(other->task)].period;
                    next += ((w + period - 1) / period + 1) * other->count * length;
                }
                if (next <= w) {
                    sum += mine.count * next;
                    break;
                }
                w = next;
                if (w > tasks_.system.tasks[i].deadline || !steps_.spend(more.size() + 1)) {
                    return std::nullopt;
                }
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
        for (std::size_t l = 0; l < tasks_.size(); l++) {
            if (l == i || !tasks_.here(l, i) || tasks_.above(l, i)) {
                continue;
            }
            Time longest = 0;
            for (const Section& section : tasks_.sections[l]) {
                if (ceiling(section) != kNone || shared_here(section, i)) {
                    longest = std::max(longest, section.length);
                }
            }
            sum += back * longest;
        }
        return sum;
    }

    // On a lock of this processor alone that a task at least as urgent as i uses.
    bool shared_here(const Section& section, std::size_t i) const {
        return std::ranges::any_of(tasks_.system.sections, [&](const Section& other) {
            return other.lock == section.lock && tasks_.here(at(other.task), i) &&
                   tasks_.above(at(other.task), i);
        });
    }

    const pinned::Tasks& tasks_;
    Steps steps_;
    bool spins_;
    std::vector<std::vector<std::int64_t>> ceiling_;  // [lock][processor]
    std::vector<Time> response_;
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
