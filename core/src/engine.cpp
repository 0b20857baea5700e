#include "deadbeat/sched/engine.hpp"

#include <algorithm>

#include "deadbeat/sched/random.hpp"
#include "deadbeat/sched/ties.hpp"

namespace deadbeat::sched {

namespace {

class Engine {
  public:
    Engine(const System& system, const Options& options, const Extent& extent)
        : system_(system), options_(options), extent_(extent) {
        // Beyond kTimeMax an instant plus a parameter could overflow.
        extent_.horizon = std::min(extent.horizon, kTimeMax);
        const std::size_t n = system.tasks.size();
        states_.resize(n);
        starts_.assign(n, kNever);
        releases_.assign(n, 0);
        early_.resize(n);
        running_.assign(at(system.processors), -1);
        previous_.assign(at(system.processors), {-1, -1});
        segment_start_.assign(at(system.processors), 0);
        for (std::size_t i = 0; i < n; i++) {
            states_[i].next_release =
                options.arrival == Arrival::listed ? listed(i) : system.tasks[i].offset;
            random_.emplace_back(options.seed, i);
        }
        if (options.metrics) {
            result_.tasks.resize(n);
        }
    }

    Result run() {
        const PolicyEntry* entry = find_policy(options_.policy);
        policy_ = entry->make();
        sticky_ = !facts_of(options_).memoryless;
        Context context{system_, &options_, tie_rank(system_, options_.ties)};
        std::string refusal = policy_->prepare(context);
        result_.placed = policy_->placed();
        result_.remarks = policy_->remarks();
        if (!refusal.empty()) {
            result_.outcome = Outcome::refused;
            result_.reason = std::move(refusal);
            return std::move(result_);
        }
        loop();
        finish();
        return std::move(result_);
    }

  private:
    using Identity = std::pair<std::int64_t, std::int64_t>;  // task, job

    void loop() {
        while (true) {
            complete();
            check_deadlines();
            if (result_.outcome == Outcome::miss && options_.stop_at_miss) {
                return;
            }
            if (repeats() || now_ >= extent_.horizon) {
                return;
            }
            const bool asked = now_ == decision_;
            if (result_.events >= options_.budget && (asked || releases_now())) {
                if (result_.outcome != Outcome::miss) {
                    result_.outcome = Outcome::budget;
                }
                return;
            }
            result_.events += asked ? 1 : 0;
            release();
            dispatch();
            advance(next_instant());
        }
    }

    void complete() {
        for (std::size_t p = 0; p < running_.size(); p++) {
            const std::int32_t task = running_[p];
            if (task < 0 || states_[at(task)].remaining > 0) {
                continue;
            }
            TaskState& state = states_[at(task)];
            judge(at(task), state, now_);
            record_job(at(task), state, now_);
            end_segment(p, task);
            running_[p] = -1;
            state.processor = -1;
            state.pending--;
            state.job++;
            state.started = false;
            state.missed = false;
            starts_[at(task)] = kNever;
            if (state.pending > 0) {
                head(at(task), backlog_release(at(task)));
            }
            policy_->completed(now_, task, states_);
        }
    }

    // The head job ended at `finish`: what is known of it then.
    void judge(std::size_t i, const TaskState& state, Time finish) {
        if (!options_.metrics) {
            return;
        }
        TaskMetrics& metrics = result_.tasks[i];
        const Time response = finish - state.release;
        const Time slack = state.deadline - finish;
        const Time tardiness = std::max<Time>(0, -slack);
        metrics.completed++;
        metrics.response_min = std::min(metrics.response_min, response);
        metrics.response_max = std::max(metrics.response_max, response);
        metrics.response_sum += response;
        metrics.tardiness_max = std::max(metrics.tardiness_max, tardiness);
        metrics.tardiness_sum += tardiness;
        metrics.slack_min = std::min(metrics.slack_min, slack);
        metrics.slack_sum += slack;
        metrics.judged++;
        metrics.missed += slack < 0 ? 1 : 0;
        std::vector<Time>& early = early_[i];
        std::erase_if(early, [&](Time deadline) { return deadline <= finish; });
        if (slack > 0) {
            early.push_back(state.deadline);
        }
    }

    void record_job(std::size_t i, const TaskState& state, Time finish) {
        record_job({static_cast<std::int64_t>(i), state.job, state.release, starts_[i], finish,
                    state.deadline});
    }

    void record_job(const JobRecord& record) {
        const bool over = std::max(record.finish, record.deadline) < options_.record_from;
        if (options_.record_jobs && !over && has_room(result_.jobs.size())) {
            result_.jobs.push_back(record);
        }
    }

    void end_segment(std::size_t p, std::int32_t task) {
        if (!options_.record_segments || segment_start_[p] == now_ || now_ < options_.record_from ||
            !has_room(result_.segments.size())) {
            return;
        }
        result_.segments.push_back(
            {task, states_[at(task)].job, static_cast<std::int64_t>(p), segment_start_[p], now_});
    }

    void head(std::size_t i, Time release) {
        TaskState& state = states_[i];
        state.release = release;
        state.deadline = release + system_.tasks[i].deadline;
        state.remaining = system_.tasks[i].wcet;
        next_due_ = std::min(next_due_, state.deadline);
    }

    // Release of the head job where jobs wait behind each other.
    Time backlog_release(std::size_t i) {
        if (options_.arrival == Arrival::periodic) {
            return states_[i].next_release - states_[i].pending * system_.tasks[i].period;
        }
        auto& queue = backlog_[i];
        const Time release = queue.front();
        queue.erase(queue.begin());
        return release;
    }

    void check_deadlines() {
        if (next_due_ > now_) {
            return;
        }
        for (std::size_t i = 0; i < states_.size(); i++) {
            TaskState& state = states_[i];
            if (!state.ready() || state.missed || state.deadline > now_) {
                continue;
            }
            state.missed = true;
            // After the first instant with a miss only the earliest deadline could still count.
            if (result_.outcome != Outcome::miss || state.deadline < result_.first_miss) {
                result_.outcome = Outcome::miss;
                result_.first_miss = state.deadline;
                result_.first_miss_task = static_cast<std::int32_t>(i);
                result_.first_miss_job = state.job;
            }
        }
    }

    bool releases_now() const { return next_release_ <= now_; }

    void release() {
        if (!releases_now()) {
            return;
        }
        for (std::size_t i = 0; i < states_.size(); i++) {
            TaskState& state = states_[i];
            if (state.next_release > now_) {
                continue;
            }
            const Time released = state.next_release;
            const std::int64_t index = releases_[i]++;
            state.next_release = options_.arrival == Arrival::listed
                                     ? listed(i)
                                     : released + system_.tasks[i].period + delay(i);
            if (options_.metrics) {
                result_.tasks[i].released++;
            }
            result_.events++;
            if (options_.skip_overruns && state.pending > 0) {
                skip(i, index, released);
                continue;
            }
            state.pending++;
            if (state.pending == 1) {
                state.job = index;
                head(i, released);
                policy_->woken(now_, static_cast<std::int32_t>(i), states_);
            } else if (options_.arrival != Arrival::periodic) {
                backlog_.resize(states_.size());
                backlog_[i].push_back(released);
            }
        }
    }

    // A job that never runs has missed when its deadline passes; it is known now that it will.
    void skip(std::size_t i, std::int64_t index, Time released) {
        const Time deadline = released + system_.tasks[i].deadline;
        skipped_.push_back({i, deadline});
        record_job({static_cast<std::int64_t>(i), index, released, kNever, kNever, deadline});
    }

    bool has_room(std::size_t recorded) {
        if (static_cast<std::int64_t>(recorded) < options_.record_max) {
            return true;
        }
        result_.truncated = true;
        return false;
    }

    // The next of the listed releases.
    Time listed(std::size_t i) const {
        const auto next = static_cast<std::size_t>(releases_[i]);
        const bool more = i < options_.releases.size() && next < options_.releases[i].size();
        return more ? options_.releases[i][next] : kNever;
    }

    Time delay(std::size_t i) {
        if (options_.arrival == Arrival::periodic) {
            return 0;
        }
        const double share = options_.sporadic_delay * static_cast<double>(system_.tasks[i].period);
        return static_cast<Time>(random_[i].below(static_cast<std::uint64_t>(share) + 1));
    }

    // --- dispatch
    // ---------------------------------------------------------------------------------

    void dispatch() {
        choices_.clear();
        policy_->choose(now_, states_, choices_);
        taken_.assign(running_.size(), -1);
        for (std::size_t from = 0; from < choices_.size();) {
            std::size_t to = from;
            while (to < choices_.size() && choices_[to].tier == choices_[from].tier) {
                to++;
            }
            place_tier(std::span(choices_).subspan(from, to - from));
            from = to;
        }
        stop_others();
        start_chosen();
    }

    // Who runs stays; who ran on a free processor last returns; the others take the lowest.
    void place_tier(std::span<const Choice> tier) {
        std::size_t stay = 0;
        for (const Choice& choice : tier) {
            const TaskState& state = states_[at(choice.task)];
            if (in_range(state.processor, choice) && taken_[at(state.processor)] < 0) {
                taken_[at(state.processor)] = choice.task;
                stay++;
            }
        }
        if (stay == tier.size()) {
            return;
        }
        for (const Choice& choice : tier) {
            const TaskState& state = states_[at(choice.task)];
            if (!holds(choice, state.processor) && in_range(state.last_processor, choice) &&
                taken_[at(state.last_processor)] < 0) {
                taken_[at(state.last_processor)] = choice.task;
            }
        }
        for (const Choice& choice : tier) {
            const TaskState& state = states_[at(choice.task)];
            if (holds(choice, state.processor) || holds(choice, state.last_processor)) {
                continue;
            }
            std::int32_t p = choice.first;
            while (taken_[at(p)] >= 0) {
                p++;
            }
            taken_[at(p)] = choice.task;
        }
    }

    static bool in_range(std::int32_t processor, const Choice& choice) {
        return processor >= choice.first && processor < choice.first + choice.count;
    }
    bool holds(const Choice& choice, std::int32_t processor) const {
        return processor >= 0 && taken_[at(processor)] == choice.task;
    }

    void stop_others() {
        for (std::size_t p = 0; p < running_.size(); p++) {
            const std::int32_t task = running_[p];
            if (task < 0 || taken_[p] == task) {
                continue;
            }
            TaskState& state = states_[at(task)];
            end_segment(p, task);
            state.processor = -1;
            running_[p] = -1;
            const bool moves_on = std::ranges::find(taken_, task) != taken_.end();
            if (options_.metrics && !moves_on) {
                result_.tasks[at(task)].preemptions++;
            }
        }
    }

    void start_chosen() {
        for (std::size_t p = 0; p < running_.size(); p++) {
            const std::int32_t task = taken_[p];
            if (task < 0 || running_[p] == task) {
                continue;
            }
            TaskState& state = states_[at(task)];
            const auto processor = static_cast<std::int32_t>(p);
            count_move(at(task), state, processor);
            charge(at(task), state, processor);
            if (!state.started) {
                state.started = true;
                starts_[at(task)] = now_;
            }
            state.processor = processor;
            state.last_processor = processor;
            running_[p] = task;
            previous_[p] = {task, state.job};
            segment_start_[p] = now_;
        }
    }

    void count_move(std::size_t i, const TaskState& state, std::int32_t processor) {
        if (!options_.metrics || state.last_processor < 0 || state.last_processor == processor) {
            return;
        }
        TaskMetrics& metrics = result_.tasks[i];
        if (!state.started) {
            metrics.task_migrations++;
            return;
        }
        metrics.migrations++;
        if (policy_->cluster_of(state.last_processor) != policy_->cluster_of(processor)) {
            metrics.cross_cluster++;
        }
    }

    // Costs lengthen the job that causes them.
    void charge(std::size_t i, TaskState& state, std::int32_t processor) {
        const Costs& costs = options_.costs;
        if (!costs.any()) {
            return;
        }
        const Identity self{static_cast<std::int64_t>(i), state.job};
        const bool same_processor = state.last_processor == processor;
        if (previous_[at(processor)] != self) {
            lengthen(state, costs.context_switch);
            if (state.started && same_processor) {
                lengthen(state, costs.cache_reload);
            }
        }
        if (state.last_processor >= 0 && !same_processor) {
            lengthen(state, costs.migration);
            const std::int32_t size = std::max(options_.cluster_size, 1);
            if (state.last_processor / size != processor / size) {
                lengthen(state, costs.migration_across);
            }
        }
    }

    // No deadline is further than 2^60 away: a job held at 2^61 has missed whatever it would need.
    void lengthen(TaskState& state, Time cost) {
        if (cost > kTimeMax / 2 - state.remaining) {
            state.remaining = kTimeMax / 2;
            if (!clipped_) {
                result_.remarks.emplace_back("costs add up beyond 2^61: figures are too small");
            }
            clipped_ = true;
            return;
        }
        state.remaining += cost;
    }

    // --- time
    // -------------------------------------------------------------------------------------

    Time next_instant() {
        decision_ = policy_->next_decision(now_, states_);
        next_release_ = next_due_ = kNever;
        for (const TaskState& state : states_) {
            next_release_ = std::min(next_release_, state.next_release);
            if (state.ready() && !state.missed) {
                next_due_ = std::min(next_due_, state.deadline);
            }
        }
        Time next = std::min({extent_.horizon, decision_, next_release_, next_due_});
        for (const std::int32_t task : running_) {
            if (task >= 0) {
                next = std::min(next, now_ + states_[at(task)].remaining);
            }
        }
        if (extent_.check_every > 0 && checkpoint_ > now_) {
            next = std::min(next, checkpoint_);
        }
        return next;
    }

    void advance(Time next) {
        const Time amount = next - now_;
        now_ = next;
        for (const std::int32_t task : running_) {
            if (task >= 0) {
                states_[at(task)].remaining -= amount;
                policy_->executed(now_, task, amount);
            }
        }
    }

    // --- repetition
    // -------------------------------------------------------------------------------

    // Brent: one state is kept, at checkpoints 0, 1, 3, 7, ...; every later one is compared with
    // it. A schedule that repeats does so with a period of whole checkpoints, from one of them on.
    bool repeats() {
        if (extent_.check_every <= 0 || now_ != checkpoint_) {
            return false;
        }
        words_.clear();
        save(words_);
        if (extent_.states != nullptr) {
            extent_.states->push_back({now_, unfinished(), words_});
            next_checkpoint();
            return false;
        }
        if (kept_at_ >= 0 && words_ == kept_) {
            result_.repeat_from = kept_at_;
            result_.repeat_to = now_;
            return true;
        }
        if (kept_at_ < 0 || lap_ == power_) {
            power_ = kept_at_ < 0 ? 1 : power_ * 2;
            kept_ = words_;
            kept_at_ = now_;
            lap_ = 0;
        }
        lap_++;
        next_checkpoint();
        return false;
    }

    void next_checkpoint() {
        checkpoint_ = checkpoint_ > kTimeMax - extent_.check_every
                          ? kNever
                          : checkpoint_ + extent_.check_every;
    }

    std::int64_t unfinished() const {
        std::int64_t jobs = 0;
        for (const TaskState& state : states_) {
            jobs += state.pending;
        }
        return jobs;
    }

    // Equal words mean equal futures. Deadlines and the releases of waiting jobs follow from these
    // (arrivals are periodic wherever states are compared). A task not yet released is saved like
    // one between jobs: what it does next is the same.
    void save(std::vector<std::int64_t>& words) const {
        for (const TaskState& state : states_) {
            words.push_back(state.pending);
            words.push_back(state.ready() ? state.remaining : 0);
            words.push_back(state.ready() ? state.release - now_ : 0);
            words.push_back(state.next_release - now_);
            if (sticky_) {
                words.push_back(state.processor);
            }
            if (options_.costs.any()) {
                words.push_back(state.last_processor);
                words.push_back(state.started ? 1 : 0);
            }
        }
        if (options_.costs.any()) {
            for (const Identity& previous : previous_) {
                const TaskState* state = previous.first < 0
                                             ? nullptr
                                             : &states_[static_cast<std::size_t>(previous.first)];
                // Which job it was matters only as far as it can come back.
                const bool head =
                    state != nullptr && state->ready() && state->job == previous.second;
                words.push_back(head ? previous.first : -1);
            }
        }
        policy_->save_state(now_, words);
    }

    void finish() {
        result_.until = now_;
        for (const Skipped& job : skipped_) {
            if (options_.metrics && job.deadline <= now_) {
                result_.tasks[job.task].judged++;
                result_.tasks[job.task].missed++;
            }
        }
        for (std::size_t p = 0; p < running_.size(); p++) {
            if (running_[p] >= 0) {
                end_segment(p, running_[p]);
            }
        }
        for (std::size_t i = 0; i < states_.size(); i++) {
            TaskState& state = states_[i];
            Time deadline = state.deadline;
            for (std::int64_t k = 0; k < state.pending; k++) {
                if (k == 0) {
                    record_job(i, state, kNever);
                } else {
                    deadline = options_.arrival == Arrival::periodic
                                   ? deadline + system_.tasks[i].period
                                   : backlog_[i][static_cast<std::size_t>(k - 1)] +
                                         system_.tasks[i].deadline;
                    record_job({static_cast<std::int64_t>(i), state.job + k,
                                deadline - system_.tasks[i].deadline, kNever, kNever, deadline});
                }
                if (options_.metrics && deadline <= now_) {
                    result_.tasks[i].judged++;
                    result_.tasks[i].missed++;
                }
            }
            // Complete, but their deadlines are not within what was simulated.
            if (options_.metrics) {
                result_.tasks[i].judged -=
                    std::ranges::count_if(early_[i], [&](Time due) { return due > now_; });
            }
        }
    }

    const System system_;
    const Options& options_;
    Extent extent_;
    std::unique_ptr<Policy> policy_;
    Time now_ = 0;
    Time next_release_ = 0;   // no task releases before
    Time next_due_ = kNever;  // no head job that has not missed is due before
    Time decision_ = kNever;  // the policy asked to decide again then
    std::vector<TaskState> states_;
    std::vector<Time> starts_;  // first dispatch of the head job, kNever before it
    std::vector<std::int32_t> running_;
    std::vector<std::int32_t> taken_;
    std::vector<Identity> previous_;  // what each processor ran last
    std::vector<Time> segment_start_;
    std::vector<Choice> choices_;
    std::vector<Random> random_;
    std::vector<std::int64_t> releases_;
    struct Skipped {
        std::size_t task;
        Time deadline;
    };
    std::vector<Skipped> skipped_;
    std::vector<std::vector<Time>> backlog_;
    std::vector<std::vector<Time>> early_;  // deadlines to come of complete jobs
    bool sticky_ = false;                   // the policy may look at who runs where
    bool clipped_ = false;                  // see lengthen()
    Time checkpoint_ = 0;
    Time kept_at_ = -1;
    std::int64_t power_ = 1;
    std::int64_t lap_ = 0;
    std::vector<std::int64_t> words_, kept_;
    Result result_;
};

}  // namespace

Result simulate(const System& system, const Options& options, const Extent& extent) {
    return Engine(system, options, extent).run();
}

}  // namespace deadbeat::sched
