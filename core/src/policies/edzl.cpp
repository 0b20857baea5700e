// EDZL: EDF until a job's laxity (deadline - now - remaining work) is 0; then it comes first.
//
// Predictable in integer time for independent jobs: Piao et al. 2006. With backlog, where C <= T,
// by the argument of docs/reference/policies.md, note 1: a head that is a later job, or the same
// with less left, is no more urgent. With less left it has more laxity. And a later head without
// laxity, d + T - t - C <= 0, has t >= d: the earlier head, due at d, had none left either, and the
// earlier deadline. (Where C > T there is no verdict `yes` to hold.)
#include "priority.hpp"

namespace deadbeat::sched::edzl {

namespace {

// Deadlines are never negative: those of jobs without laxity are moved below all others, and stay
// in order among themselves. Late jobs have no laxity either.
class Keys {
  public:
    static constexpr bool fixed_priority = false;

    std::string prepare(const Context& context) {
        rank_ = context.rank;
        return "";
    }
    Key operator()(Time now, const TaskState& state, std::int32_t task) const {
        const bool urgent = state.deadline - state.remaining <= now;
        return {urgent ? state.deadline + kFirst : state.deadline, rank_[at(task)]};
    }
    // A running job keeps its laxity, a waiting one loses it.
    Time next_decision(Time now, const std::vector<TaskState>& states) const {
        Time next = kNever;
        for (const TaskState& state : states) {
            if (state.ready() && state.processor < 0) {
                const Time instant = state.deadline - state.remaining;
                next = instant > now ? std::min(next, instant) : next;
            }
        }
        return next;
    }

  private:
    std::vector<std::int32_t> rank_;
};

const PolicyRegistrar registrar(
    {.name = "edzl",
     .title = "EDZL, EDF until zero laxity",
     .reference = "Lee, TENCON 1994; Cho, Lee, Han and Lin, IEICE Transactions E85-D, 2002",
     .memoryless = true,
     .predictable = true,
     .predictable_reason = "Piao, Han, Kim, Park, Cho and Cho, ISORC 2006, integer time; with "
                           "backlog where C <= T"},
    make<Ranked<Keys, Scope::global>>);

}  // namespace

}  // namespace deadbeat::sched::edzl
