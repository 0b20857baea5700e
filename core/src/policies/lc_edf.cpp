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
// * sticky: as pull, but a job that is taken joins the cluster that takes it, the lowest with an
//   idle processor, and competes there by its deadline like those at home, until it completes or
//   yet another cluster takes it. The next job of its task starts at home.
// * release: no homes; a job joins, when it becomes the head of its task, the least loaded cluster
//   (sum of C/T of its ready tasks), ties to the lowest, and stays. Jobs that do so at one instant
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

namespace deadbeat::sched::lc_edf {

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
        bound_ = balance == "none" || balance == "offline";
        pull_ = balance == "pull" || balance == "both" || balance == "sticky";
        sticky_ = balance == "sticky";
        release_ = balance == "release";
        const bool equalise = balance == "offline" || balance == "both";
        if (!bound_ && !pull_ && !release_) {
            return "there is no balance \"" + balance +
                   "\" (none, offline, pull, both, sticky, release)";
        }
        const std::size_t n = context.system.tasks.size();
        joined_.assign(n, -1);
        chosen_.assign(n, 0);
        std::string refusal =
            release_ ? clusters_.divide(context, Scope::clustered) : find_homes(context, equalise);
        if (refusal.empty()) {
            best_.assign(at(clusters_.count()), {});
            tasks_ = context.system.tasks;
        }
        return refusal;
    }

    void choose(Time, const std::vector<TaskState>& states, std::vector<Choice>& choices) override {
        join_waiting(states);
        for (Selection<>& best : best_) {
            best.clear(clusters_.size());
        }
        std::int32_t ready = 0;
        for (std::size_t i = 0; i < states.size(); i++) {
            if (states[i].ready()) {
                const auto task = static_cast<std::int32_t>(i);
                best_[at(joined_[i])].offer(key_of(states[i], task), task);
                ready++;
            }
        }
        const std::size_t from = choices.size();
        for (std::int32_t k = 0; k < clusters_.count(); k++) {
            best_[at(k)].append(clusters_.first(k), clusters_.size(), 0, choices);
        }
        const auto busy = static_cast<std::int32_t>(choices.size() - from);
        if (pull_ && busy < std::min(ready, processors_)) {
            choose_guests(from, states, choices);
        }
    }

    void woken(Time, std::int32_t task, const std::vector<TaskState>& states) override {
        if (release_) {
            join_waiting(states);
            join(task, states);
        }
    }
    void completed(Time, std::int32_t task, const std::vector<TaskState>& states) override {
        if (sticky_) {
            joined_[at(task)] = clusters_.placed()[at(task)];
        }
        if (release_) {
            joined_[at(task)] = -1;
            if (states[at(task)].ready()) {
                waiting_.push_back(task);
            }
        }
    }

    void save_state(Time, std::vector<std::int64_t>& words) const override {
        if (sticky_ || release_) {
            words.insert(words.end(), joined_.begin(), joined_.end());
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

    std::optional<JobOrder> order() const override {
        return bound_ ? std::optional(clusters_.order()) : std::nullopt;
    }

  private:
    Key key_of(const TaskState& state, std::int32_t task) const {
        return {state.deadline, rank_[at(task)]};
    }

    std::string find_homes(const Context& context, bool equalise) {
        Options options = *context.options;
        options.unplaced = "least-loaded";
        Context always = context;
        always.options = &options;
        std::string refusal = clusters_.prepare(always, Scope::clustered, false);
        if (refusal.empty()) {
            joined_ = clusters_.placed();
            if (equalise) {
                Equaliser(context.system, joined_, clusters_.count()).run();
                clusters_.rebind(joined_);
            }
        }
        return refusal;
    }

    // Those chosen so far start at `from`.
    void choose_guests(std::size_t from, const std::vector<TaskState>& states,
                       std::vector<Choice>& choices) {
        std::ranges::fill(chosen_, 0);
        for (std::size_t i = from; i < choices.size(); i++) {
            chosen_[at(choices[i].task)] = 1;
        }
        guests_.clear(processors_ - static_cast<std::int32_t>(choices.size() - from));
        for (std::size_t i = 0; i < states.size(); i++) {
            if (states[i].ready() && chosen_[i] == 0) {
                const auto task = static_cast<std::int32_t>(i);
                guests_.offer(key_of(states[i], task), task);
            }
        }
        if (!sticky_) {
            guests_.append(0, processors_, 1, choices);
            return;
        }
        std::int32_t k = 0;
        std::int32_t idle = clusters_.size() - best_[0].size();
        for (const auto& [key, task] : guests_.best()) {
            while (idle == 0) {
                k++;
                idle = clusters_.size() - best_[at(k)].size();
            }
            joined_[at(task)] = k;
            choices.push_back({task, clusters_.first(k), clusters_.size(), 1});
            idle--;
        }
    }

    // Heads since the last decision that had waited behind another job.
    void join_waiting(const std::vector<TaskState>& states) {
        if (waiting_.empty()) {
            return;
        }
        std::ranges::sort(waiting_);
        for (const std::int32_t task : waiting_) {
            join(task, states);
        }
        waiting_.clear();
    }

    void join(std::int32_t task, const std::vector<TaskState>& states) {
        std::int32_t least = 0;
        for (std::int32_t k = 1; k < clusters_.count(); k++) {
            least = less_loaded(k, least, states) ? k : least;
        }
        joined_[at(task)] = least;
    }

    bool less_loaded(std::int32_t a, std::int32_t b, const std::vector<TaskState>& states) {
        terms_.clear();
        for (std::size_t i = 0; i < states.size(); i++) {
            if (states[i].ready() && (joined_[i] == a || joined_[i] == b)) {
                terms_.push_back({joined_[i] == a ? 1 : -1, tasks_[i].wcet, tasks_[i].period});
            }
        }
        return sign_of_sum(terms_, 0) < 0;
    }

    bool bound_ = false, pull_ = false, sticky_ = false, release_ = false;
    std::int32_t processors_ = 1;
    std::span<const Task> tasks_;
    std::vector<std::int32_t> rank_;
    std::vector<std::int32_t> joined_;  // cluster of the head job; -1: none yet
    std::vector<std::int32_t> waiting_;
    std::vector<char> chosen_;
    std::vector<ShareTerm> terms_;
    Clusters clusters_;
    std::vector<Selection<>> best_;  // of each cluster
    Selection<> guests_;
};

bool stays_at_home(const Options& options) {
    return options.balance != "sticky" && options.balance != "release";
}

PolicyInfo with_options(PolicyInfo info, const Options& options) {
    if (stays_at_home(options)) {
        info.memoryless = true;
        info.predictable = true;
        info.predictable_reason =
            "balance " + options.balance + ": no decision grows worse (proof beside the policy)";
    }
    return info;
}

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
    make<LooseClusteredEdf>, with_options);

}  // namespace

}  // namespace deadbeat::sched::lc_edf
