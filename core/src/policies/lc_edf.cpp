// Loose clustered EDF. The thesis names it without a definition that could be found; this is our
// reading of it, and every verdict says so.
//
// Every task has a home cluster, found by bin packing; one that fits nowhere goes to the least
// utilised. In every cluster of c processors the c home jobs with the earliest deadlines run; then
// each processor still idle takes, in global EDF order, a waiting job of another cluster as a
// guest. A guest gives way as soon as a home job needs the processor, and always competes at home.
// options.balance chooses among variants:
// * none: homes alone (clustered EDF).
// * offline: homes are equalised before: while that shrinks the gap between the most and the least
//   utilised cluster, the task that leaves the smallest gap moves from one to the other. Tasks with
//   a home of their own stay.
// * pull: guests, homes not equalised.
// * both: guests, and homes equalised. The default.
// * sticky: as pull, but a guest keeps its processor until its job ends.
// * release: no homes; a job joins, when it becomes the head of its task, the cluster whose ready
//   jobs have the least work left, ties to the lowest, and stays. Jobs that do so at one instant
//   join one after the other: those that waited behind another job first, then those released, each
//   in the order of the tasks.
//
// With none, offline, pull and both the policy is predictable, and pull and both are never worse
// than clustered EDF with the same homes. Compare two schedules of the same releases; call a task
// ahead if its head job is a later one, or the same with no more work left. Let every task be ahead
// in the first schedule (less work, or guests served) at t. Then its ready tasks are among those of
// the second, and their heads no more urgent. A job at the same point in both that runs at home in
// the second, with fewer than c more urgent heads of its cluster, has as few in the first. One that
// runs as a guest: a job runs iff sum over clusters of min(c, ready) + max(0, heads more urgent
// than it - c) is below m, and no term is larger in the first. So it runs there too, and stays no
// less far.
#include <functional>

#include "../shares.hpp"
#include "deadbeat/sched/ties.hpp"
#include "priority.hpp"

namespace deadbeat::sched {

namespace {

// Moves tasks between the clusters of `placed` until that no longer shrinks the gap between the
// most and the least utilised. Each move lowers the sum of squared utilisations: it ends.
class Equaliser {
  public:
    Equaliser(const System& system, std::vector<std::int32_t>& placed, std::int32_t clusters)
        : system_(system), placed_(placed), loads_(at(clusters)) {
        for (std::size_t i = 0; i < placed.size(); i++) {
            loads_[at(placed[i])].add(system.tasks[i].wcet, system.tasks[i].period);
        }
    }

    void run() {
        while (true) {
            std::size_t most = 0;
            std::size_t least = 0;
            for (std::size_t k = 1; k < loads_.size(); k++) {
                most = loads_[k].compare(loads_[most]) > 0 ? k : most;
                least = loads_[k].compare(loads_[least]) < 0 ? k : least;
            }
            const std::int32_t task = best(most, least);
            if (task < 0) {
                return;
            }
            const Task& one = system_.tasks[at(task)];
            loads_[most].remove(one.wcet, one.period);
            loads_[least].add(one.wcet, one.period);
            placed_[at(task)] = static_cast<std::int32_t>(least);
        }
    }

  private:
    // The task of `most` that leaves the smallest gap g' = |g - 2u| < g to `least`, or -1.
    std::int32_t best(std::size_t most, std::size_t least) const {
        std::vector<ShareTerm> gap = loads_[most].terms();
        for (const ShareTerm& term : loads_[least].terms()) {
            gap.push_back({-1, term.part, term.whole});
        }
        std::int32_t found = -1;
        for (std::size_t i = 0; i < placed_.size(); i++) {
            const Task& task = system_.tasks[i];
            if (at(placed_[i]) != most || task.home >= 0 || less(gap, {{1, task}}) <= 0) {
                continue;
            }
            if (found < 0 || leaves_less(gap, task, system_.tasks[at(found)])) {
                found = static_cast<std::int32_t>(i);
            }
        }
        return found;
    }

    struct Part {
        std::int64_t times;
        std::reference_wrapper<const Task> task;
    };

    // Sign of gap - sum of the parts.
    static int less(std::vector<ShareTerm> gap, std::initializer_list<Part> parts) {
        for (const Part& part : parts) {
            gap.push_back({-part.times, part.task.get().wcet, part.task.get().period});
        }
        return sign_of_sum(gap, 0);
    }

    // |g - 2a| < |g - 2b|
    static bool leaves_less(const std::vector<ShareTerm>& gap, const Task& a, const Task& b) {
        const bool a_crosses = less(gap, {{2, a}}) < 0;
        const bool b_crosses = less(gap, {{2, b}}) < 0;
        if (a_crosses == b_crosses) {
            return a_crosses ? compare_share(a, b) < 0 : compare_share(a, b) > 0;
        }
        const int middle = less(gap, {{1, a}, {1, b}});
        return a_crosses ? middle > 0 : middle < 0;
    }

    const System& system_;
    std::vector<std::int32_t>& placed_;
    std::vector<Load> loads_;
};

class LooseClusteredEdf final : public Policy {
  public:
    std::string prepare(const Context& context) override {
        rank_ = context.rank;
        processors_ = context.system.processors;
        const std::string& balance = context.options->balance;
        pull_ = balance == "pull" || balance == "both" || balance == "sticky";
        sticky_ = balance == "sticky";
        release_ = balance == "release";
        const bool equalise = balance == "offline" || balance == "both";
        if (!pull_ && !release_ && !equalise && balance != "none") {
            return "there is no balance \"" + balance +
                   "\" (none, offline, pull, both, sticky, release)";
        }
        const std::size_t n = context.system.tasks.size();
        joined_.assign(n, -1);
        on_.assign(n, {});
        chosen_.assign(n, 0);
        if (release_) {
            return clusters_.divide(context, Scope::clustered);
        }
        Options options = *context.options;
        options.unplaced = "least-loaded";
        Context always = context;
        always.options = &options;
        std::string refusal = clusters_.prepare(always, Scope::clustered, false);
        if (refusal.empty()) {
            std::vector<std::int32_t> homes = clusters_.placed();
            if (equalise) {
                Equaliser(context.system, homes, clusters_.count()).run();
                clusters_.rebind(homes);
            }
            joined_ = homes;
        }
        return refusal;
    }

    void choose(Time, const std::vector<TaskState>& states, std::vector<Choice>& choices) override {
        join_waiting(states);
        std::ranges::fill(chosen_, 0);
        const auto from = choices.size();
        if (sticky_) {
            choose_staying(states, choices);
        }
        for (std::int32_t k = 0; k < clusters_.count(); k++) {
            choose_at_home(k, states, choices);
        }
        if (pull_) {
            choose_guests(static_cast<std::int32_t>(choices.size() - from), states, choices);
        }
    }

    void woken(Time, std::int32_t task, const std::vector<TaskState>& states) override {
        if (release_) {
            join_waiting(states);
            join(task, states);
        }
    }
    void completed(Time, std::int32_t task, const std::vector<TaskState>& states) override {
        on_[at(task)].processor = -1;
        if (release_) {
            joined_[at(task)] = -1;
            if (states[at(task)].ready()) {
                waiting_.push_back(task);
            }
        }
    }
    // Here to see where the choices were placed.
    Time next_decision(Time, const std::vector<TaskState>& states) override {
        if (sticky_) {
            for (std::size_t i = 0; i < states.size(); i++) {
                on_[i] = {states[i].processor, states[i].last_processor};
            }
        }
        return kNever;
    }

    // sticky: where guests are, and where the next ones will go (tasks return to the processor they
    // ran on last).
    void save_state(Time, std::vector<std::int64_t>& words) const override {
        for (std::size_t i = 0; i < joined_.size(); i++) {
            if (sticky_) {
                words.push_back(on_[i].processor);
                words.push_back(on_[i].last_processor);
            } else if (release_) {
                words.push_back(joined_[i]);
            }
        }
    }

    std::int32_t cluster_of(std::int32_t processor) const override {
        return processor / clusters_.size();
    }
    std::vector<std::int32_t> placed() const override { return clusters_.placed(); }
    std::vector<std::string> remarks() const override {
        std::vector<std::string> all = clusters_.remarks();
        all.insert(all.begin(),
                   "loose clustered as deadbeat reads it: no published definition was found");
        return all;
    }

  private:
    struct On {
        std::int32_t processor = -1;
        std::int32_t last_processor = -1;
    };

    Key key_of(const TaskState& state, std::int32_t task) const {
        return {state.deadline, rank_[at(task)]};
    }

    void take(std::int32_t task, std::int32_t first, std::int32_t count, std::int32_t tier,
              std::vector<Choice>& choices) {
        chosen_[at(task)] = 1;
        choices.push_back({task, first, count, tier});
    }

    void choose_staying(const std::vector<TaskState>& states, std::vector<Choice>& choices) {
        staying_.assign(at(clusters_.count()), 0);
        for (std::size_t i = 0; i < states.size(); i++) {
            const std::int32_t processor = states[i].processor;
            if (processor >= 0 && cluster_of(processor) != joined_[i]) {
                take(static_cast<std::int32_t>(i), processor, 1, 0, choices);
                staying_[at(cluster_of(processor))]++;
            }
        }
    }

    void choose_at_home(std::int32_t k, const std::vector<TaskState>& states,
                        std::vector<Choice>& choices) {
        selection_.clear(clusters_.size() - (sticky_ ? staying_[at(k)] : 0));
        const auto offer = [&](std::int32_t task) {
            if (states[at(task)].ready() && chosen_[at(task)] == 0) {
                selection_.offer(key_of(states[at(task)], task), task);
            }
        };
        if (release_) {
            for (std::size_t i = 0; i < joined_.size(); i++) {
                if (joined_[i] == k) {
                    offer(static_cast<std::int32_t>(i));
                }
            }
        } else {
            std::ranges::for_each(clusters_.members(k), offer);
        }
        for (const auto& [key, task] : selection_.best()) {
            take(task, clusters_.first(k), clusters_.size(), 1, choices);
        }
    }

    void choose_guests(std::int32_t busy, const std::vector<TaskState>& states,
                       std::vector<Choice>& choices) {
        if (busy == processors_) {
            return;
        }
        selection_.clear(processors_ - busy);
        for (std::size_t i = 0; i < states.size(); i++) {
            if (states[i].ready() && chosen_[i] == 0) {
                const auto task = static_cast<std::int32_t>(i);
                selection_.offer(key_of(states[i], task), task);
            }
        }
        selection_.append(0, processors_, 2, choices);
    }

    // Heads since the last decision that had waited behind another job.
    void join_waiting(const std::vector<TaskState>& states) {
        std::ranges::sort(waiting_);
        for (const std::int32_t task : waiting_) {
            join(task, states);
        }
        waiting_.clear();
    }

    void join(std::int32_t task, const std::vector<TaskState>& states) {
        work_.assign(at(clusters_.count()), 0);
        for (std::size_t i = 0; i < states.size(); i++) {
            if (states[i].ready() && joined_[i] >= 0) {
                work_[at(joined_[i])] += states[i].remaining;
            }
        }
        joined_[at(task)] =
            static_cast<std::int32_t>(std::ranges::min_element(work_) - work_.begin());
    }

    bool pull_ = false, sticky_ = false, release_ = false;
    std::int32_t processors_ = 1;
    std::vector<std::int32_t> rank_;
    std::vector<std::int32_t> joined_;  // cluster of the task, or of its head job; -1: none yet
    std::vector<std::int32_t> waiting_;
    std::vector<std::int32_t> staying_;  // guests of each cluster
    std::vector<On> on_;
    std::vector<char> chosen_;
    std::vector<Wide> work_;
    Clusters clusters_;
    Selection<> selection_;
};

const PolicyRegistrar registrar(
    {.name = "lc-edf",
     .title = "Loose clustered EDF (our interpretation)",
     .reference = "no published definition found; ours is in docs/reference/policies.md",
     .memoryless = false,
     .predictable = false,
     .predictable_reason = "holds for balance none, offline, pull and both (proof beside the "
                           "policy); not for sticky and release, where a job's end changes where "
                           "others go",
     .clusters = true,
     .partitions = true},
    make<LooseClusteredEdf>);

}  // namespace

}  // namespace deadbeat::sched
