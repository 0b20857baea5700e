// PD2, a Pfair policy: optimal for implicit deadlines, sum of C/T <= m. The quantum, the unit of
// all below, is the greatest common divisor of the system's times.
//
// Srinivasan and Anderson, STOC 2002 and Journal of Computer and System Sciences 72(6), 2006; the
// rules as in Anderson and Srinivasan, same journal 68(1), 2004. Job after job, as T divides into
// whole windows: of a job released at r, the j-th unit of work (subtask, from 1) may run in
// [r + floor((j-1) T/C), r + ceil(j T/C)) only from the beginning of that window (it is not
// released early) and is due at its end. Subtasks are ordered by
// * their deadline;
// * b = 1 (the window overlaps the next one: j T mod C > 0) before b = 0;
// * both b = 1: the later group deadline, to where a cascade of windows of length two would push,
//   that is ceil(ceil(ceil(jT/C) (1-w)) / (1-w)) for w = C/T >= 1/2; light tasks have 0;
// * the tie rule.
//
// Predictable while nobody is late: where a subtask is dropped, the one that takes its slot comes
// from a later one, and so on; successors do not get eligible earlier, since their windows begin at
// the earliest one slot before their predecessor's ends.
#include "priority.hpp"

namespace deadbeat::sched::pd2 {

namespace {

struct SubtaskKey {
    Time deadline;
    std::int64_t no_overlap;  // 1 - b
    Time group;               // negated; 0 where it does not matter
    std::int64_t rank;
    auto operator<=>(const SubtaskKey&) const = default;
};

// Of one subtask, relative to the release of its job.
struct Window {
    Time begin = 0;
    Time end = 0;
    bool overlap = false;
    Time group = 0;  // 0: light
};

// Integer: wide enough for j T.
template <class Integer>
Window window_of(Integer c, Integer t, Integer j) {
    Window window;
    window.begin = static_cast<Time>((j - 1) * t / c);
    const Integer end = (j * t + c - 1) / c;
    window.end = static_cast<Time>(end);
    window.overlap = j * t % c != 0;
    if (window.overlap && 2 * c >= t) {  // and C < T, else windows do not overlap
        const Integer holes = (end * (t - c) + t - 1) / t;
        window.group = static_cast<Time>((holes * t + t - c - 1) / (t - c));
    }
    return window;
}

class Pd2 final : public Policy {
  public:
    std::string prepare(const Context& context) override {
        tasks_ = context.system.tasks;
        quantum_ = common_divisor(context.system);
        processors_ = context.system.processors;
        for (std::size_t i = 0; i < tasks_.size(); i++) {
            if (tasks_[i].deadline != tasks_[i].period) {
                return "task " + std::to_string(i) +
                       " has a deadline other than its period, PD2 needs them equal";
            }
            if (tasks_[i].wcet > tasks_[i].period) {
                return "task " + std::to_string(i) +
                       " has a utilisation above 1, PD2 needs at most 1";
            }
            subtasks_.push_back({.rank = context.rank[i]});
        }
        return "";
    }

    void choose(Time now, const std::vector<TaskState>& states,
                std::vector<Choice>& choices) override {
        selection_.clear(processors_);
        next_ = kNever;
        for (std::size_t i = 0; i < states.size(); i++) {
            const TaskState& state = states[i];
            if (!state.ready()) {
                continue;
            }
            const Subtask& subtask = current(i, state);
            if (subtask.begin <= now) {
                selection_.offer(subtask.key, static_cast<std::int32_t>(i));
            } else {
                next_ = std::min(next_, subtask.begin);
            }
        }
        selection_.append(0, processors_, 0, choices);
    }

    Time next_decision(Time now, const std::vector<TaskState>&) override {
        return selection_.size() > 0 ? (now / quantum_ + 1) * quantum_ : next_;
    }

  private:
    struct Subtask {
        std::int64_t rank = 0;
        Time release = -1;  // of the job, with `remaining` says which subtask this is
        Time remaining = -1;
        Time begin = 0;
        SubtaskKey key{};
    };

    // Computed once per subtask.
    const Subtask& current(std::size_t i, const TaskState& state) {
        Subtask& subtask = subtasks_[i];
        if (subtask.release == state.release && subtask.remaining == state.remaining) {
            return subtask;
        }
        const Task& task = tasks_[i];
        const Time c = task.wcet / quantum_;
        const Time t = task.period / quantum_;
        // Costs can leave more than C to do: the first subtask's window then counts for longer.
        const Time done = std::max<Time>(0, task.wcet - state.remaining);
        const Time j = done / quantum_ + 1;
        const Window window = t <= kNarrow ? window_of<Time>(c, t, j) : window_of<Wide>(c, t, j);
        subtask.release = state.release;
        subtask.remaining = state.remaining;
        subtask.begin = state.release + window.begin * quantum_;
        subtask.key = {state.release + window.end * quantum_, window.overlap ? 0 : 1,
                       window.group > 0 ? -(state.release + window.group * quantum_) : 0,
                       subtask.rank};
        return subtask;
    }

    static constexpr Time kNarrow = Time{1} << 30;  // T^2 and a little fit 64 bits

    std::span<const Task> tasks_;
    Time quantum_ = 1;
    std::int32_t processors_ = 1;
    std::vector<Subtask> subtasks_;
    Selection<SubtaskKey> selection_;
    Time next_ = kNever;
};

const PolicyRegistrar registrar(
    {.name = "pd2",
     .title = "Pfair PD2",
     .reference = "Srinivasan and Anderson, Journal of Computer and System Sciences 72(6), 2006",
     .memoryless = true,
     .predictable = true,
     .predictable_reason = "while no deadline is missed, a dropped subtask only moves others to "
                           "earlier slots: Srinivasan and Anderson, 2006",
     .implicit_only = true},
    make<Pd2>);

}  // namespace

}  // namespace deadbeat::sched::pd2
