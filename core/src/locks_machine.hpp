// What executes the jobs of a pattern.
#pragma once

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "deadbeat/sched/locks_sim.hpp"
#include "locks_protocols.hpp"

namespace deadbeat::sched::locks {

// What a machine writes down beside responses.
struct Log {
    std::vector<TaskMetrics> tasks;  // how often jobs were preempted, or moved
    std::int64_t events = 0;
    std::vector<Time> starts;
    bool whole = false;  // the following, too
    std::vector<JobRecord> jobs;
    std::vector<Segment> segments;
    std::vector<Hold> holds;
};

class Machine {
  public:
    Machine(const System& system, const Scheduling& how, bool together)
        : system_(system),
          protocol_(*find(how.protocol)),
          edf_(is_edf(how.policy)),
          global_(clusters_of(system, how.policy) == 1),
          together_(together),
          active_(system.tasks.size()),
          local_(at(clusters_of(system, how.policy))),
          running_(at(system.processors)),
          ran_(running_.size()) {
        size_ = running_.size() / local_.size();
        std::size_t count = 0;
        for (const Section& section : system.sections) {
            count = std::max(count, at(section.lock) + 1);
        }
        locks_.resize(count);
        for (Lock& lock : locks_) {
            lock.outside.assign(local_.size(), kNone);
            lock.inside.assign(local_.size(), kNone);
        }
        for (const Section& section : system.sections) {
            const Task& task = system.tasks[at(section.task)];
            Lock& lock = locks_[at(section.lock)];
            lock.ceiling = std::max(lock.ceiling, level(task));
            lock.server = at(section.served_on(static_cast<std::int32_t>(local_.size())));
            for (std::size_t k = 0; k < lock.outside.size(); k++) {
                auto& its = k == cluster(task) ? lock.inside : lock.outside;
                its[k] = std::max(its[k], task.priority);
            }
        }
        for (std::size_t i = 0; i < system.tasks.size(); i++) {
            for (std::size_t k = 0; k < local_.size(); k++) {
                if (k == cluster(system.tasks[i]) || protocol_.rule == Rule::served) {
                    local_[k].push_back(i);
                }
            }
        }
    }

    void run(const Pattern& pattern, std::vector<Time>& responses, Log* log = nullptr) {
        begin(pattern, responses);
        if (log != nullptr) {
            log->starts.assign(pattern.jobs.size(), kNever);
        }
        std::size_t next = 0;
        const std::size_t listed = pattern.jobs.size() - pattern.follows.size();
        for (Time now = 0; next < listed || busy_ > 0 || !due_.empty();) {
            settle(now);
            help();
            const Time then = next_event(now, next);
            if (log != nullptr) {
                write(*log, now, then);
            }
            for (const std::size_t i : executed_) {
                if (i != kNobody && progresses(i)) {
                    active_[i].left -= then - now;
                }
            }
            now = then;
            for (const std::size_t i : executed_) {
                if (i != kNobody && progresses(i) && active_[i].left == 0) {
                    end_part(i, now);
                }
            }
            std::ranges::sort(fresh_);
            for (const std::size_t i : std::exchange(fresh_, {})) {
                donate(i);
            }
            if (!together_) {
                settle(now);
            }
            while (!due_.empty() && due_.begin()->first <= now) {
                release(due_.begin()->second);
                due_.erase(due_.begin());
                if (!together_) {
                    settle(now);
                }
            }
            while (next < listed && pattern.jobs[next].release <= now) {
                release(next++);
                if (!together_) {
                    settle(now);
                }
            }
        }
    }

  private:
    struct Lock {
        std::size_t owner = kNobody;
        std::vector<std::size_t> waiters;   // tasks, in order of request
        std::size_t first = 0;              // omlp, global: of these; the others by priority
        std::size_t server = 0;             // processor that serves it, where one does
        std::int64_t ceiling = kNone;       // most urgent user,
        std::vector<std::int64_t> inside;   // the one of each processor,
        std::vector<std::int64_t> outside;  // and the one outside of it
    };

    // The job that a task executes.
    struct Active {
        std::vector<std::size_t> queue;  // of jobs, released
        std::size_t head = 0;
        std::size_t part = 0, end = 0;
        Time left = 0;
        Time wakes = 0;
        bool inside = false;   // of its section or stretch
        bool waiting = false;  // for its lock
        bool away = false;     // where its lock is served
        bool started = false;
        std::int64_t ticket = 0;
        std::size_t donor = kNobody, donee = kNobody;   // omlp in clusters: who lends its priority
        std::size_t last = kNobody, number = kNobody;   // where it ran, and which job
        std::size_t segment = kNobody, hold = kNobody;  // of the log
    };

    // More is more urgent: first the band (1: above all priorities, 2: not preempted).
    using Urgency = std::pair<int, std::int64_t>;

    void begin(const Pattern& pattern, std::vector<Time>& responses) {
        pattern_ = &pattern;
        responses_ = &responses;
        responses.assign(pattern.jobs.size(), 0);
        firsts_.assign(pattern.jobs.size() + 1, pattern.parts.size());
        for (std::size_t p = pattern.parts.size(); p-- > 0;) {
            firsts_[at(pattern.parts[p].job)] = p;
        }
        for (Active& each : active_) {
            each.queue.clear();
            each.head = 0;
            each.wakes = 0;
            each.last = each.number = each.segment = each.hold = kNobody;
        }
        busy_ = 0;
        tickets_ = 0;
        due_.clear();
        std::ranges::fill(running_, kNobody);
        std::ranges::fill(ran_, std::pair(kNobody, kNobody));
    }

    void release(std::size_t job) {
        const auto i = at(pattern_->jobs[job].task);
        active_[i].queue.push_back(job);
        busy_++;
        if (active_[i].queue.size() == active_[i].head + 1) {
            start(i);
            donate(i);
        }
    }

    void start(std::size_t i) {
        Active& own = active_[i];
        const std::size_t job = own.queue[own.head];
        own.part = firsts_[job];
        own.end = firsts_[job + 1];
        own.inside = own.waiting = own.away = own.started = false;
        own.left = part(i).length;
        own.donor = own.donee = kNobody;
    }

    bool donates() const { return protocol_.rule == Rule::omlp && !global_; }

    // To whom it displaces from those that may execute, if that one has made a request.
    void donate(std::size_t i) {
        if (!donates()) {
            return;
        }
        for (const std::size_t v : local_[cluster(system_.tasks[i])]) {
            Active& other = active_[v];
            if (v != i && pending(v) && other.donee == kNobody && ahead(v, i) == size_ - 1 &&
                effective(i) > effective(v) && requested(v)) {
                if (other.donor != kNobody) {
                    active_[other.donor].donee = kNobody;
                }
                other.donor = i;
                active_[i].donee = v;
                return;
            }
        }
    }

    bool requested(std::size_t i) const {
        return active_[i].waiting || (active_[i].inside && part(i).what >= 0);
    }

    std::int64_t effective(std::size_t i) const {
        return base(active_[i].donor == kNobody ? i : active_[i].donor);
    }

    // How many of its cluster, without `but`, are before it, wherever they are; donors are not.
    std::size_t ahead(std::size_t i, std::size_t but) const {
        const std::pair own(effective(i), -order(i));
        return at(std::ranges::count_if(local_[cluster(system_.tasks[i])], [&](std::size_t j) {
            return j != i && j != but && pending(j) && active_[j].donee == kNobody &&
                   std::pair(effective(j), -order(j)) > own;
        }));
    }

    std::size_t cluster(const Task& task) const { return global_ ? 0 : home(task); }

    // As ceilings have it: the deadline under EDF.
    std::int64_t level(const Task& task) const { return edf_ ? -task.deadline : task.priority; }

    std::size_t job(std::size_t i) const { return active_[i].queue[active_[i].head]; }
    std::int64_t order(std::size_t i) const { return static_cast<std::int64_t>(job(i)); }

    // Larger is more urgent.
    std::int64_t base(std::size_t i) const {
        const Task& task = system_.tasks[i];
        return edf_ ? -(pattern_->jobs[job(i)].arrival + task.deadline) : task.priority;
    }

    bool pending(std::size_t i) const { return active_[i].head < active_[i].queue.size(); }
    const Part& part(std::size_t i) const { return pattern_->parts[active_[i].part]; }

    bool ready(std::size_t i, Time now) const {
        return pending(i) && active_[i].wakes <= now && (!active_[i].waiting || protocol_.stays) &&
               (!edf_ || active_[i].started || level(system_.tasks[i]) > ceiling()) &&
               (!donates() || (active_[i].donee == kNobody && may_request(i)));
    }

    // Stack resource policy under EDF: a job begins above the ceilings of what is held.
    std::int64_t ceiling() const {
        std::int64_t most = kNone;
        for (const Lock& lock : locks_) {
            most = lock.owner == kNobody ? most : std::max(most, lock.ceiling);
        }
        return most;
    }

    // What is no request, or by one of the most urgent pending jobs of its cluster, donors too, by
    // their own priorities (Brandenburg and Anderson, EMSOFT 2011, D1).
    bool may_request(std::size_t i) const {
        const std::pair own(base(i), -order(i));
        return part(i).what < 0 || active_[i].inside ||
               at(std::ranges::count_if(
                   local_[cluster(system_.tasks[i])],
                   [&](std::size_t j) {
                       return j != i && pending(j) && std::pair(base(j), -order(j)) > own;
                   })) < size_;
    }

    // Who spins executes the section that it waits for, if nobody does.
    void help() {
        executed_ = running_;
        for (std::size_t& i : executed_) {
            if (protocol_.rule == Rule::help && i != kNobody && active_[i].waiting) {
                const std::size_t owner = locks_[at(part(i).what)].owner;
                i = std::ranges::find(executed_, owner) == executed_.end() ? owner : i;
            }
        }
    }

    bool progresses(std::size_t i) const { return !active_[i].waiting; }

    Urgency urgency(std::size_t i) const {
        const Task& task = system_.tasks[i];
        const Active& own = active_[i];
        const std::int64_t what = part(i).what;
        if (own.waiting && protocol_.rule == Rule::spin) {
            return {2, 0};
        }
        if (protocol_.rule == Rule::help && requested(i)) {
            return {0, locks_[at(what)].inside[cluster(task)]};
        }
        if (!own.inside) {
            return {own.away ? 1 : 0, donates() ? effective(i) : base(i)};
        }
        if (what == kStretch) {
            return {2, 0};
        }
        const Lock& lock = locks_[at(what)];
        const std::int64_t outside = lock.outside[cluster(task)];
        std::int64_t most = base(i);
        switch (protocol_.rule) {
            case Rule::plain:
            case Rule::help:
                break;
            case Rule::omlp:
                if (!global_) {
                    return {0, effective(i)};
                }
                [[fallthrough]];
            case Rule::inherit:
                for (const std::size_t waiter : lock.waiters) {
                    most = std::max(most, system_.tasks[waiter].priority);
                }
                break;
            case Rule::fmlp:
                return {1, -own.ticket};
            case Rule::mpcp:
                if (outside != kNone) {
                    return {1, outside};
                }
                return {0, lock.ceiling};
            case Rule::spin:
                if (outside != kNone) {
                    return {2, 0};
                }
                return {0, lock.ceiling};
            case Rule::ceiling:
                return {0, edf_ ? base(i) : lock.ceiling};
            case Rule::served:
                return {1, lock.ceiling};
        }
        return {0, most};
    }

    std::size_t place(std::size_t i) const {
        return active_[i].away ? locks_[at(part(i).what)].server : cluster(system_.tasks[i]);
    }

    // As many as a cluster has processors, the most urgent first; of the same urgency who is
    // inside, then who was released before.
    void choose(std::size_t cluster, Time now) {
        chosen_.clear();
        for (const std::size_t i : local_[cluster]) {
            if (!ready(i, now) || place(i) != cluster) {
                continue;
            }
            const Urgency found = urgency(i);
            const auto where = std::ranges::find_if(chosen_, [&](const auto& other) {
                return found > other.first || (found == other.first && before(i, other.second));
            });
            chosen_.insert(where, {found, i});
            chosen_.resize(std::min(chosen_.size(), size_));
        }
    }

    // Who was on a processor of the cluster stays there.
    void assign(std::size_t cluster) {
        const auto first = running_.begin() + static_cast<std::ptrdiff_t>(cluster * size_);
        const auto end = first + static_cast<std::ptrdiff_t>(size_);
        for (auto each = first; each != end; ++each) {
            if (std::ranges::find(chosen_, *each, &Candidate::second) == chosen_.end()) {
                *each = kNobody;
            }
        }
        for (const auto& [_, i] : chosen_) {
            if (std::find(first, end, i) == end) {
                const std::size_t last = active_[i].last;
                const bool free =
                    last < running_.size() && last / size_ == cluster && running_[last] == kNobody;
                *(free ? running_.begin() + static_cast<std::ptrdiff_t>(last)
                       : std::find(first, end, kNobody)) = i;
            }
        }
    }

    bool before(std::size_t a, std::size_t b) const {
        const bool inside = active_[a].inside || active_[a].waiting;
        if (inside != (active_[b].inside || active_[b].waiting)) {
            return inside;
        }
        return job(a) < job(b);
    }

    // Until each processor has a job that computes: the first one with another goes first.
    void settle(Time now) {
        for (std::size_t k = 0; k < local_.size();) {
            choose(k, now);
            const bool changed = std::ranges::any_of(
                chosen_, [&](const Candidate& each) { return enter(each.second, now); });
            if (!changed) {
                assign(k);
            }
            k = changed ? 0 : k + 1;
        }
    }

    // Whether something changed.
    bool enter(std::size_t i, Time now) {
        Active& own = active_[i];
        const std::int64_t what = part(i).what;
        own.started = true;
        if (own.inside || own.waiting || what == kCompute) {
            return false;
        }
        if (what >= 0 && protocol_.rule == Rule::served && !own.away) {
            return own.away = true;
        }
        if (what >= 0) {
            return request(i, locks_[at(what)]);
        }
        if (what == kSuspend) {
            own.wakes = now + own.left;
            own.left = 0;
            advance(i, own.wakes);
            return true;
        }
        own.inside = true;
        return false;
    }

    bool request(std::size_t i, Lock& lock) {
        Active& own = active_[i];
        const auto queued = std::ranges::find(lock.waiters, i);
        if (queued == lock.waiters.end()) {
            own.ticket = ++tickets_;
        }
        if (lock.owner == kNobody &&
            (lock.waiters.empty() || lock.waiters[top(lock)] == i ||
             system_.tasks[i].priority > system_.tasks[lock.waiters[top(lock)]].priority)) {
            if (queued != lock.waiters.end()) {
                lock.waiters.erase(queued);
            }
            lock.owner = i;
            own.inside = true;
            return true;
        }
        if (queued == lock.waiters.end() && two_queues() && lock.first + 1 < running_.size()) {
            lock.first++;
            lock.waiters.insert(lock.waiters.begin() + static_cast<std::ptrdiff_t>(lock.first) - 1,
                                i);
        } else if (queued == lock.waiters.end()) {
            lock.waiters.push_back(i);
        }
        own.waiting = true;
        return true;
    }

    bool two_queues() const { return protocol_.rule == Rule::omlp && global_; }

    // One is gone from the first queue: the most urgent of the second one enters it.
    void refill(Lock& lock) {
        const auto rest =
            lock.waiters.begin() + static_cast<std::ptrdiff_t>(lock.first > 0 ? --lock.first : 0);
        const auto next = std::max_element(rest, lock.waiters.end(), [&](auto a, auto b) {
            return system_.tasks[a].priority < system_.tasks[b].priority;
        });
        if (next != lock.waiters.end()) {
            std::rotate(rest, next, next + 1);
            lock.first++;
        }
    }

    // The place of the waiter that is next.
    std::size_t top(const Lock& lock) const {
        std::size_t best = 0;
        const bool by_priority = !protocol_.fifo || (two_queues() && lock.first == 0);
        for (std::size_t w = 1; by_priority && w < lock.waiters.size(); w++) {
            if (system_.tasks[lock.waiters[w]].priority >
                system_.tasks[lock.waiters[best]].priority) {
                best = w;
            }
        }
        return best;
    }

    void end_part(std::size_t i, Time now) {
        if (part(i).what >= 0) {
            unlock(locks_[at(part(i).what)]);
            if (const std::size_t donor = std::exchange(active_[i].donor, kNobody);
                donor != kNobody) {
                active_[donor].donee = kNobody;
            }
        }
        advance(i, now);
    }

    void unlock(Lock& lock) {
        lock.owner = kNobody;
        if (lock.waiters.empty()) {
            return;
        }
        const std::size_t place = top(lock);
        const std::size_t next = lock.waiters[place];
        active_[next].waiting = false;
        if (!protocol_.steal) {
            lock.waiters.erase(lock.waiters.begin() + static_cast<std::ptrdiff_t>(place));
            if (two_queues() && running_.size() > 1) {
                refill(lock);
            }
            lock.owner = next;
            active_[next].inside = true;
        }
    }

    // To the next part; a job that ends with a suspension ends when that is over.
    void advance(std::size_t i, Time now) {
        Active& own = active_[i];
        own.inside = own.away = false;
        if (++own.part < own.end) {
            own.left = part(i).length;
            return;
        }
        const std::size_t job = own.queue[own.head++];
        (*responses_)[job] = now - pattern_->jobs[job].arrival;
        busy_--;
        const auto [first, last] = std::ranges::equal_range(
            pattern_->follows, job, {}, &std::pair<std::size_t, std::size_t>::first);
        for (auto each = first; each != last; ++each) {
            due_.emplace(now, each->second);
        }
        if (pending(i)) {
            start(i);
            fresh_.push_back(i);
        }
    }

    Time next_event(Time now, std::size_t next) const {
        Time then = kNever;
        if (next < pattern_->jobs.size()) {
            then = pattern_->jobs[next].release;
        }
        if (!due_.empty()) {
            then = std::min(then, due_.begin()->first);
        }
        for (std::size_t i = 0; i < active_.size(); i++) {
            if (pending(i) && active_[i].wakes > now) {
                then = std::min(then, active_[i].wakes);
            }
        }
        for (const std::size_t i : executed_) {
            if (i != kNobody && progresses(i)) {
                then = std::min(then, now + active_[i].left);
            }
        }
        return then;
    }

    // What happens from now to then.
    void write(Log& log, Time now, Time then) {
        log.events++;
        if (now == then) {
            return;
        }
        for (const auto& [i, before] : ran_) {
            if (i != kNobody && pending(i) && job(i) == before && ready(i, now) &&
                std::ranges::find(running_, i) == running_.end() &&
                std::ranges::find(executed_, i) == executed_.end()) {
                log.tasks[i].preemptions++;
            }
        }
        for (std::size_t p = 0; p < running_.size(); p++) {
            const std::size_t i = executed_[p];
            ran_[p] = {i, i == kNobody ? kNobody : job(i)};
            if (i != kNobody) {
                moves(log, i, p, now);
            }
        }
        for (std::size_t i = 0; log.whole && i < active_.size(); i++) {
            if (pending(i)) {
                write(log, i, now, then);
            }
        }
    }

    void moves(Log& log, std::size_t i, std::size_t p, Time now) {
        Active& own = active_[i];
        const bool moved = own.last != kNobody && own.last != p;
        const bool resumed = own.number == job(i);
        log.tasks[i].migrations += moved && resumed;
        log.tasks[i].cross_cluster += moved && resumed && own.last / size_ != p / size_;
        log.tasks[i].task_migrations += moved && !resumed;
        log.starts[job(i)] = std::min(log.starts[job(i)], now);
        own.number = job(i);
        own.last = p;
    }

    void write(Log& log, std::size_t i, Time now, Time then) {
        Active& own = active_[i];
        JobRecord& record = log.jobs[job(i)];
        const auto task = static_cast<std::int64_t>(i);
        const auto found = std::ranges::find(executed_, i);
        if (found != executed_.end()) {
            record.start = std::min(record.start, now);
            const std::int64_t processor = found - executed_.begin();
            extend(
                log.segments, own.segment, {task, record.job, processor, now, then},
                [](const Segment& s) { return std::tuple(s.job, s.processor, s.to); },
                std::tuple(record.job, processor, now));
        }
        const std::size_t with = own.donee == kNobody ? i : own.donee;
        if (own.wakes > now || !requested(with)) {
            return;
        }
        const std::int64_t lock = part(with).what;
        const std::size_t owner = locks_[at(lock)].owner;
        const std::int64_t holder = owner == kNobody ? -1 : static_cast<std::int64_t>(owner);
        extend(
            log.holds, own.hold, {task, record.job, lock, holder, now, then},
            [](const Hold& h) { return std::tuple(h.job, h.lock, h.holder, h.to); },
            std::tuple(record.job, lock, holder, now));
    }

    // The last row of a task goes on, or another one begins.
    template <class Row, class Key, class Value>
    static void extend(std::vector<Row>& rows, std::size_t& last, const Row& row, Key key,
                       const Value& same) {
        if (last != kNobody && key(rows[last]) == same) {
            rows[last].to = row.to;
            return;
        }
        last = rows.size();
        rows.push_back(row);
    }

    using Candidate = std::pair<Urgency, std::size_t>;

    const System& system_;
    const Protocol& protocol_;
    bool edf_, global_, together_;
    std::vector<Active> active_;
    std::vector<Lock> locks_;
    std::vector<std::vector<std::size_t>> local_;  // tasks of each cluster
    std::size_t size_ = 1;                         // processors of each
    std::vector<Candidate> chosen_;
    std::vector<std::size_t> fresh_;     // jobs that follow one of their task, of this instant
    std::vector<std::size_t> running_;   // the task of each processor,
    std::vector<std::size_t> executed_;  // or the one that it helps
    std::vector<std::pair<std::size_t, std::size_t>> ran_;  // before, and its job
    std::vector<std::size_t> firsts_;                       // part of each job
    const Pattern* pattern_ = nullptr;
    std::vector<Time>* responses_ = nullptr;
    std::int64_t busy_ = 0, tickets_ = 0;
    std::set<std::pair<Time, std::size_t>> due_;  // jobs that others released, and when
};

}  // namespace deadbeat::sched::locks
