// Partitioned FIFO, as Linux runs SCHED_FIFO threads that are bound to one processor each.
//
// sched(7): the most urgent level that has a runnable thread runs its first one; a thread that
// wakes up goes to the tail of its level; one that is preempted stays at the head. A task is a
// thread that sleeps until its next release: the release of a job whose task has nothing else to do
// is a wake-up. Where the release has passed when the previous job ends, the sleep returns at once:
// the thread goes on without losing its place. Threads that wake at the same instant queue in the
// order of the tie rule. Not simulated: the real-time throttling of /proc/sys/kernel.
#include "priority.hpp"

namespace deadbeat::sched::p_fifo {

namespace {

class PartitionedFifo final : public Policy {
  public:
    std::string prepare(const Context& context) override {
        const auto levels = priority_levels(context.system, context.options->priorities);
        if (!levels) {
            return unknown_priorities(context.options->priorities);
        }
        level_ = *levels;
        rank_ = context.rank;
        ticket_.assign(level_.size(), 0);
        awake_.assign(level_.size(), 0);
        return clusters_.prepare(context, Scope::partitioned, true);
    }

    void woken(Time, std::int32_t task, const std::vector<TaskState>&) override {
        awake_[at(task)] = 1;
        woken_.push_back(task);
    }
    void completed(Time, std::int32_t task, const std::vector<TaskState>& states) override {
        awake_[at(task)] = states[at(task)].ready() ? 1 : 0;
    }

    void choose(Time, const std::vector<TaskState>& states, std::vector<Choice>& choices) override {
        std::ranges::sort(woken_, {}, [&](std::int32_t task) { return rank_[at(task)]; });
        for (const std::int32_t task : woken_) {
            ticket_[at(task)] = next_ticket_++;
        }
        woken_.clear();
        for (std::int32_t k = 0; k < clusters_.count(); k++) {
            selection_.clear(1);
            for (const std::int32_t task : clusters_.members(k)) {
                if (states[at(task)].ready()) {
                    selection_.offer({level_[at(task)], ticket_[at(task)]}, task);
                }
            }
            selection_.append(k, 1, 0, choices);
        }
    }

    std::int32_t cluster_of(std::int32_t processor) const override { return processor; }
    std::vector<std::int32_t> placed() const override { return clusters_.placed(); }
    std::vector<std::string> remarks() const override { return clusters_.remarks(); }

    // The place of every thread in the queue of its level.
    void save_state(Time, std::vector<std::int64_t>& words) const override {
        for (std::int32_t k = 0; k < clusters_.count(); k++) {
            for (const std::int32_t task : clusters_.members(k)) {
                std::int64_t place = awake_[at(task)] != 0 ? 0 : -1;
                for (const std::int32_t other : clusters_.members(k)) {
                    if (place >= 0 && awake_[at(other)] != 0 &&
                        level_[at(other)] == level_[at(task)] &&
                        ticket_[at(other)] < ticket_[at(task)]) {
                        place++;
                    }
                }
                words.push_back(place);
            }
        }
    }

  private:
    std::vector<std::int64_t> level_;
    std::vector<std::int32_t> rank_;
    std::vector<std::int64_t> ticket_;  // order of wake-ups
    std::int64_t next_ticket_ = 0;
    std::vector<char> awake_;
    std::vector<std::int32_t> woken_;  // at this instant
    Clusters clusters_;
    Selection<> selection_;
};

const PolicyRegistrar registrar(
    {.name = "p-fifo",
     .title = "Partitioned FIFO within fixed priorities (Linux SCHED_FIFO)",
     .reference = "sched(7), POSIX.1-2017 SCHED_FIFO",
     .memoryless = false,
     .predictable = false,
     .predictable_reason = "a task that catches up sleeps, and wakes at the tail of its level; "
                           "where it stayed behind it kept its place",
     .partitions = true,
     .fixed_priority = true},
    make<PartitionedFifo>);

}  // namespace

}  // namespace deadbeat::sched::p_fifo
