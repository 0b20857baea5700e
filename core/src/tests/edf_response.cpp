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
            const Time tail = std::max<Time>(system_.extra(i).np_last, 1);
            Time worst = system_.tasks[i].wcet, before = kNever;
            Time start = 0;
            for (const Time a : releases(i, *busy)) {
                if (*busy - a <= worst) {  // it ends by then
                    break;
                }
                // Starts are later at later releases, unless less blocks.
                const Time blocking = blocking_at(a + system_.tasks[i].deadline);
                start = blocking == before ? start : 0;
                before = blocking;
                if (!respond(i, a, blocking - tail, start)) {
                    return kBudget;
                }
                worst = std::max(worst, start + tail - a);
            }
            if (worst > system_.tasks[i].deadline) {
                return plain ? refuted("a job misses") : kTooLong;
            }
            if (!bounds.empty()) {
                bounds[i] = worst;
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
                next +=
                    Wide{(static_cast<Time>(length) + task.period - 1) / task.period} * task.wcet;
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

    Time blocking_at(Time due) const {
        Time blocking = given_;
        for (std::size_t j = 0; j < system_.tasks.size() && !system_.extras.empty(); j++) {
            if (system_.tasks[j].deadline > due) {
                blocking = std::max(blocking, longest(static_cast<std::int64_t>(j)));
            }
        }
        return blocking;
    }

    // `start` from below to where the last stretch begins: within the busy period, so that no sum
    // passes 64 bits.
    bool respond(std::size_t i, Time a, Time besides, Time& start) {
        const Task& mine = system_.tasks[i];
        const Time fixed = besides + (1 + a / mine.period) * mine.wcet;
        most_.clear();
        for (std::size_t j = 0; j < system_.tasks.size(); j++) {
            const Task& other = system_.tasks[j];
            if (const Time room = a + mine.deadline - other.deadline; j != i && room >= 0) {
                most_.push_back({other.period, other.wcet, 1 + room / other.period});
            }
        }
        start = std::max(start, fixed);
        while (steps_.spend(most_.size() + 1)) {
            Time next = fixed;
            for (const auto& [period, wcet, jobs] : most_) {
                next += std::min(start / period + 1, jobs) * wcet;
            }
            if (next == start) {
                return true;
            }
            start = next;
        }
        return false;
    }

    struct Most {
        Time period, wcet, jobs;  // with deadlines that count
    };

    const System& system_;
    Time given_;
    Steps steps_;
    std::vector<Most> most_;
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
