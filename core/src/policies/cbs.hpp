// Constant-bandwidth servers as Linux's SCHED_DEADLINE runs them: one server per task, EDF among
// the servers' deadlines, hard reservations.
//
// Abeni and Buttazzo, RTSS 1998; Abeni, Lipari and Lelli, SIGBED Review 11(4), 2014 (the revised
// wake-up rule); Lelli, Scordino, Abeni and Faggioli, Software: Practice and Experience 46(6),
// 2016. What Linux does (kernel/sched/deadline.c, named in brackets), and so does this:
//
// A server has a runtime Q, a relative deadline D and a period P, Q <= D <= P, and a state: the
// runtime q that is left and the absolute deadline d. Its priority is d, whatever the deadline of
// the job it serves, and its next period begins at d - D + P [dl_next_period].
// * First wake-up: q = Q, d = now + D [setup_new_dl_entity].
// * Wake-up of a throttled server: nothing, the replenishment will come [enqueue_task_dl].
// * Wake-up of a constrained server (D < P) after d but before its next period: q = 0, throttled
//   [dl_check_constrained_dl].
// * Any other wake-up [update_dl_entity]: d < now, or q/(d - now) > Q/D [dl_entity_overflow], lets
//   the server begin anew, q = Q and d = now + D; but a constrained one with d >= now keeps d and
//   gets q = floor(Q (d - now) / D) [update_dl_revised_wakeup]. Else q and d stay as they are.
// * It executes: q falls with it. At 0 it is throttled, does not run, until its next period
//   [update_curr_dl, start_dl_timer]; also when the job ends just then. Where that has passed
//   already, it is replenished at once.
// * Replenishment: q = Q, d = d + P, no longer throttled; where that leaves d < now it begins anew
//   [replenish_dl_entity].
// * A job that ends while the next one waits is no blocking: q and d go on.
//
// What is simpler here. Exhaustion is seen at the very instant (Linux: at the next tick, unless
// high-resolution ticks are on, and the overrun is taken from the next runtime), so q is never
// negative. Fractions are exact (Linux: dl_entity_overflow drops the lowest 10 bits of nanoseconds,
// the density of the revised rule has 20 bits). Equal d are ordered by the tie rule, also against a
// running job (Linux: the one that was there first). Nobody reclaims (SCHED_FLAG_RECLAIM, GRUB),
// yields or inherits. There is no admission control, and no fair server.
#pragma once

#include "priority.hpp"

namespace deadbeat::sched {

class Server {
  public:
    // From Task's budget, server_period and server_deadline; 0 stands for the task's own.
    explicit Server(const Task& task)
        : budget_(task.budget > 0 ? task.budget : task.wcet),
          period_(task.server_period > 0 ? task.server_period : task.period),
          deadline_(task.server_deadline > 0 ? task.server_deadline : task.deadline) {}

    // "" or what sched_setattr(2) refuses.
    std::string defect() const;
    // What is reserved, as a task: for bin packing.
    Task reservation(const Task& task) const;

    void wake(Time now);
    // Throttles what is exhausted at `now`, replenishes what is due by then. Exhaustion must be
    // settled at its instant.
    void settle(Time now);
    void execute(Time amount) { runtime_ -= amount; }

    bool throttled() const { return throttled_; }
    Time runtime() const { return runtime_; }
    Time deadline() const { return absolute_; }
    Time next_period() const { return absolute_ - deadline_ + period_; }

    // Three words, equal for states with the same future; `active`: has a job.
    void save(Time now, bool active, std::vector<std::int64_t>& words) const;

  private:
    bool constrained() const { return deadline_ < period_; }
    // Sign of q/(d - now) - Q/D, for d >= now.
    int overflow(Time now) const;
    void renew(Time now) {
        runtime_ = budget_;
        absolute_ = now + deadline_;
    }

    Time budget_, period_, deadline_;  // Q, P, D
    Time runtime_ = 0;                 // q
    Time absolute_ = 0;                // d
    bool begun_ = false;               // has been woken
    bool throttled_ = false;
};

template <Scope scope>
class ConstantBandwidth final : public Policy {
  public:
    std::string prepare(const Context& context) override {
        rank_ = context.rank;
        std::vector<Task> reservations;
        for (std::size_t i = 0; i < context.system.tasks.size(); i++) {
            const Task& task = context.system.tasks[i];
            servers_.emplace_back(task);
            if (const std::string defect = servers_.back().defect(); !defect.empty()) {
                return "task " + std::to_string(i) + ": " + defect;
            }
            reservations.push_back(servers_.back().reservation(task));
        }
        active_.assign(servers_.size(), 0);
        Context reserved = context;
        reserved.system.tasks = reservations;
        return clusters_.prepare(reserved, scope, false);
    }

    void choose(Time now, const std::vector<TaskState>& states,
                std::vector<Choice>& choices) override {
        for (std::int32_t k = 0; k < clusters_.count(); k++) {
            selection_.clear(clusters_.size());
            for (const std::int32_t task : clusters_.members(k)) {
                Server& server = servers_[at(task)];
                server.settle(now);
                if (states[at(task)].ready() && !server.throttled()) {
                    selection_.offer({server.deadline(), rank_[at(task)]}, task);
                }
            }
            selection_.append(clusters_.first(k), clusters_.size(), 0, choices);
        }
    }

    Time next_decision(Time now, const std::vector<TaskState>& states) override {
        Time next = kNever;
        for (std::size_t i = 0; i < states.size(); i++) {
            if (states[i].processor >= 0) {
                next = std::min(next, now + servers_[i].runtime());
            } else if (states[i].ready() && servers_[i].throttled()) {
                next = std::min(next, servers_[i].next_period());
            }
        }
        return next;
    }
    void woken(Time now, std::int32_t task, const std::vector<TaskState>&) override {
        servers_[at(task)].wake(now);
        active_[at(task)] = 1;
    }
    void completed(Time, std::int32_t task, const std::vector<TaskState>& states) override {
        active_[at(task)] = states[at(task)].ready() ? 1 : 0;
    }
    void executed(Time, std::int32_t task, Time amount) override {
        servers_[at(task)].execute(amount);
    }
    void save_state(Time now, std::vector<std::int64_t>& words) const override {
        for (std::size_t i = 0; i < servers_.size(); i++) {
            servers_[i].save(now, active_[i] != 0, words);
        }
    }

    std::int32_t cluster_of(std::int32_t processor) const override {
        return processor / clusters_.size();
    }
    std::vector<std::int32_t> placed() const override { return clusters_.placed(); }
    std::vector<std::string> remarks() const override { return clusters_.remarks(); }

  private:
    std::vector<Server> servers_;
    std::vector<std::int32_t> rank_;
    std::vector<char> active_;
    Clusters clusters_;
    Selection<> selection_;
};

inline constexpr const char* kServersRemember =
    "a job that ends early changes what its server has left and when it wakes; not shown";

}  // namespace deadbeat::sched
