// Response times under EDF on one processor, any deadlines: for each release a of task i in the
// busy period, with all others released so that their deadlines come as late as that of a or
// before, the least fixed point s of s = B + (1 + floor(a / T_i)) C_i - L
//     + sum over j of min(floor(s / T_j) + 1, 1 + floor((a + D_i - D_j) / T_j)) C_j
// ends at s + L: R = max (s + L - a). L is the last stretch of i that nobody preempts (1: none), B
// the longest such stretch of a task with a later deadline, less the instant in which it began.
// Only a at which a deadline of a and one of another job meet need be tried.
//
// Exact where nothing blocks; else sufficient.
#include "shared.hpp"

namespace deadbeat::sched::edf_response {

namespace {

using namespace analysis;

class Responses {
  public:
    Responses(const System& system, const TestOptions& options)
        : system_(system), given_(options.blocking), steps_(options) {}

    TestVerdict run(std::span<Time> bounds) {
        const auto busy = busy_period();
        if (!busy) {
            return kBudget;
        }
        const bool plain = given_ == 0 && beyond(system_) == kNothing;
        for (std::size_t i = 0; i < system_.tasks.size(); i++) {
            Wide worst = system_.tasks[i].wcet;
            for (const Time a : releases(i, *busy)) {
                const auto found = respond(i, a);
                if (!found) {
                    return kBudget;
                }
                worst = std::max(worst, *found);
            }
            if (worst > system_.tasks[i].deadline) {
                return plain ? refuted("a job misses") : kTooLong;
            }
            if (!bounds.empty()) {
                bounds[i] = static_cast<Time>(worst);
            }
        }
        return kAccepted;
    }

  private:
    Time longest(std::int64_t task) const { return system_.extra(at(task)).stretch(); }

    // With the longest stretch ahead of it: no release beyond can see more.
    std::optional<Time> busy_period() {
        Wide blocking = given_;
        for (std::size_t j = 0; j < system_.tasks.size(); j++) {
            blocking = std::max<Wide>(blocking, longest(static_cast<std::int64_t>(j)));
        }
        Wide length = 1;
        while (length <= kTimeMax / 2 && steps_.spend(system_.tasks.size())) {
            Wide next = blocking;
            for (const Task& task : system_.tasks) {
                next += (length + task.period - 1) / task.period * task.wcet;
            }
            if (next == length) {
                return static_cast<Time>(length);
            }
            length = next;
        }
        return std::nullopt;
    }

    std::vector<Time> releases(std::size_t i, Time busy) {
        std::vector<Time> found;
        const Time own = system_.tasks[i].deadline;
        for (const Task& task : system_.tasks) {
            Time a = task.deadline - own;
            a += a < 0 ? (-a + task.period - 1) / task.period * task.period : 0;
            for (; a < busy && steps_.spend(1); a += task.period) {
                found.push_back(a);
            }
        }
        std::ranges::sort(found);
        const auto rest = std::ranges::unique(found);
        found.erase(rest.begin(), rest.end());
        return found;
    }

    std::optional<Wide> respond(std::size_t i, Time a) {
        const Task& mine = system_.tasks[i];
        const Time tail = std::max<Time>(system_.extra(i).np_last, 1);
        const Time due = a + mine.deadline;
        Time blocking = given_;
        for (std::size_t j = 0; j < system_.tasks.size(); j++) {
            if (system_.tasks[j].deadline > due) {
                blocking = std::max(blocking, longest(static_cast<std::int64_t>(j)));
            }
        }
        const Wide fixed = blocking + (Wide{1} + a / mine.period) * mine.wcet - tail;
        Wide start = fixed;
        while (true) {
            if (!steps_.spend(system_.tasks.size())) {
                return std::nullopt;
            }
            Wide next = fixed;
            for (std::size_t j = 0; j < system_.tasks.size(); j++) {
                const Task& other = system_.tasks[j];
                if (j != i && other.deadline <= due) {
                    next += std::min(start / other.period + 1,
                                     Wide{1} + (due - other.deadline) / other.period) *
                            other.wcet;
                }
            }
            if (next == start) {
                return start + tail - a;
            }
            start = next;
        }
    }

    const System& system_;
    Time given_;
    Steps steps_;
};

TestVerdict edf_response(const System& system, const TestOptions& options, std::span<Time> bounds) {
    if (system.processors != 1) {
        return kNotUni;
    }
    if (compare_utilisation(system, 1) > 0) {
        return refuted("utilisation above 1");
    }
    return Responses(system, options).run(bounds);
}

const TestRegistrar registrar({.name = "edf-response",
                               .title = "Response times under EDF on one processor",
                               .reference = "Spuri, INRIA RR-2772, 1996; George, Rivierre and "
                                            "Spuri, INRIA RR-2966, 1996",
                               .scheduler = "g-edf",
                               .model = "sporadic",
                               .ties = "any",
                               .deadlines = "arbitrary",
                               .kind = TestKind::exact,
                               .cost = 40,
                               .models = kNonPreemptive},
                              edf_response);

}  // namespace

}  // namespace deadbeat::sched::edf_response
