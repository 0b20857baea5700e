// Global EDF: the m ready jobs with the earliest absolute deadlines run.
#include "priority.hpp"

namespace deadbeat::sched {

namespace {

class GlobalEdf final : public Policy {
  public:
    std::string prepare(const Context& context) override {
        rank_ = context.rank;
        members_ = all_tasks(context.system);
        processors_ = context.system.processors;
        return "";
    }

    void choose(Time, const std::vector<TaskState>& states, std::vector<Choice>& choices) override {
        choose_most_urgent(
            states, members_, 0, processors_,
            [&](std::int32_t task) {
                const auto i = static_cast<std::size_t>(task);
                return Key{states[i].deadline, rank_[i]};
            },
            choices);
    }

  private:
    std::vector<std::int32_t> rank_;
    std::vector<std::int32_t> members_;
    std::int32_t processors_ = 0;
};

const PolicyRegistrar registrar(
    {.name = "g-edf",
     .title = "Global EDF",
     .reference = "Dhall and Liu, Operations Research 26(1), 1978",
     .memoryless = true,
     .predictable = true,
     .predictable_reason = "job-level fixed priorities, preemptive, identical processors: Ha and "
                           "Liu, ICDCS 1994"},
    make<GlobalEdf>);

}  // namespace

}  // namespace deadbeat::sched
