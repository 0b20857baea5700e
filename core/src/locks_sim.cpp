#include "deadbeat/sched/locks_sim.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>
#include <utility>

#include "deadbeat/sched/random.hpp"

namespace deadbeat::sched::locks {

namespace {

enum class Rule { plain, inherit, ceiling, mpcp, fmlp, spin, served, omlp };

struct Protocol {
    const char* name;
    Rule rule;
    bool fifo;   // waiters queue in order of request, else of priority
    bool stays;  // a waiter keeps its processor from who is less urgent (msrp: from all)
    bool steal;  // a released lock is free: a more urgent requester may be faster than the waiter
};

// The first letter: bound to processors, in clusters (as many as the homes name), or global.
constexpr std::array kPolicies{"p-fp", "c-fp", "g-fp", "p-edf", "c-edf", "g-edf"};

// srp and protect: no nesting, so to run at the ceiling from the request on is both.
constexpr std::array kProtocols{
    Protocol{"none", Rule::plain, false, false, false},
    Protocol{"inherit", Rule::inherit, false, false, false},
    Protocol{"inherit-steal", Rule::inherit, false, false, true},
    Protocol{"protect", Rule::ceiling, false, false, false},
    Protocol{"srp", Rule::ceiling, false, false, false},
    Protocol{"mpcp", Rule::mpcp, false, false, false},
    Protocol{"virtual-spin", Rule::mpcp, false, true, false},
    Protocol{"fmlp+", Rule::fmlp, true, false, false},
    Protocol{"msrp", Rule::spin, true, true, false},
    Protocol{"dpcp", Rule::served, false, false, false},
    Protocol{"omlp", Rule::omlp, true, false, false},
};

const Protocol* find(const std::string& name) {
    const auto* found = std::ranges::find(kProtocols, name, &Protocol::name);
    return found == kProtocols.end() ? nullptr : found;
}

constexpr std::size_t kNobody = std::numeric_limits<std::size_t>::max();
constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();

std::size_t home(const Task& task) { return task.home < 0 ? 0 : at(task.home); }

bool is_edf(const std::string& policy) { return policy.ends_with("edf"); }

std::int64_t clusters_of(const System& system, const std::string& policy) {
    if (policy[0] == 'c') {
        return static_cast<std::int64_t>(home(std::ranges::max(system.tasks, {}, home))) + 1;
    }
    return policy[0] == 'g' ? 1 : system.processors;
}

// What a machine writes down beside responses.
struct Log {
    std::vector<TaskMetrics> tasks;  // how often jobs were preempted, or moved
    std::int64_t events = 0;
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
        }
        for (const Section& section : system.sections) {
            const Task& task = system.tasks[at(section.task)];
            Lock& lock = locks_[at(section.lock)];
            lock.ceiling = std::max(lock.ceiling, level(task));
            for (std::size_t k = 0; k < lock.outside.size(); k++) {
                if (k != cluster(task)) {
                    lock.outside[k] = std::max(lock.outside[k], task.priority);
                }
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
        std::size_t next = 0;
        for (Time now = 0; next < pattern.jobs.size() || busy_ > 0;) {
            settle(now);
            const Time then = next_event(now, next);
            if (log != nullptr) {
                write(*log, now, then);
            }
            for (const std::size_t i : running_) {
                if (i != kNobody && progresses(i)) {
                    active_[i].left -= then - now;
                }
            }
            now = then;
            for (const std::size_t i : running_) {
                if (i != kNobody && progresses(i) && active_[i].left == 0) {
                    end_part(i, now);
                }
            }
            if (!together_) {
                settle(now);
            }
            while (next < pattern.jobs.size() && pattern.jobs[next].release <= now) {
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
        std::int64_t ceiling = kNone;       // most urgent user,
        std::vector<std::int64_t> outside;  // and the one outside of each processor
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
        std::ranges::fill(running_, kNobody);
        std::ranges::fill(ran_, std::pair(kNobody, kNobody));
    }

    void release(std::size_t job) {
        const auto i = at(pattern_->jobs[job].task);
        active_[i].queue.push_back(job);
        busy_++;
        if (active_[i].queue.size() == active_[i].head + 1) {
            start(i);
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
        if (donates()) {
            donate(i);
        }
    }

    bool donates() const { return protocol_.rule == Rule::omlp && !global_; }

    // To whom it displaces from those that may execute, if that one has made a request.
    void donate(std::size_t i) {
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

    // What is no request, or by one of the most urgent jobs of its cluster.
    bool may_request(std::size_t i) const {
        return part(i).what < 0 || active_[i].inside || ahead(i, kNobody) < size_;
    }

    bool progresses(std::size_t i) const { return !active_[i].waiting; }

    Urgency urgency(std::size_t i) const {
        const Task& task = system_.tasks[i];
        const Active& own = active_[i];
        const std::int64_t what = part(i).what;
        if (own.waiting && protocol_.rule == Rule::spin) {
            return {2, 0};
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

    // Lock i is served on processor i modulo m.
    std::size_t place(std::size_t i) const {
        return active_[i].away ? at(part(i).what) % local_.size() : cluster(system_.tasks[i]);
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
        for (std::size_t w = 1; !protocol_.fifo && w < lock.waiters.size(); w++) {
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
            if (two_queues()) {
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
        if (pending(i)) {
            start(i);
        }
    }

    Time next_event(Time now, std::size_t next) const {
        Time then = kNever;
        if (next < pattern_->jobs.size()) {
            then = pattern_->jobs[next].release;
        }
        for (std::size_t i = 0; i < active_.size(); i++) {
            if (pending(i) && active_[i].wakes > now) {
                then = std::min(then, active_[i].wakes);
            }
        }
        for (const std::size_t i : running_) {
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
                std::ranges::find(running_, i) == running_.end()) {
                log.tasks[i].preemptions++;
            }
        }
        for (std::size_t p = 0; p < running_.size(); p++) {
            const std::size_t i = running_[p];
            ran_[p] = {i, i == kNobody ? kNobody : job(i)};
            if (i != kNobody) {
                moves(log, i, p);
            }
        }
        for (std::size_t i = 0; log.whole && i < active_.size(); i++) {
            if (pending(i)) {
                write(log, i, now, then);
            }
        }
    }

    void moves(Log& log, std::size_t i, std::size_t p) {
        Active& own = active_[i];
        const bool moved = own.last != kNobody && own.last != p;
        const bool resumed = own.number == job(i);
        log.tasks[i].migrations += moved && resumed;
        log.tasks[i].cross_cluster += moved && resumed && own.last / size_ != p / size_;
        log.tasks[i].task_migrations += moved && !resumed;
        own.number = job(i);
        own.last = p;
    }

    void write(Log& log, std::size_t i, Time now, Time then) {
        Active& own = active_[i];
        JobRecord& record = log.jobs[job(i)];
        const auto task = static_cast<std::int64_t>(i);
        const auto found = std::ranges::find(running_, i);
        if (found != running_.end()) {
            record.start = std::min(record.start, now);
            const std::int64_t processor = found - running_.begin();
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
    std::vector<std::size_t> running_;                      // the task of each processor
    std::vector<std::pair<std::size_t, std::size_t>> ran_;  // before, and its job
    std::vector<std::size_t> firsts_;                       // part of each job
    const Pattern* pattern_ = nullptr;
    std::vector<Time>* responses_ = nullptr;
    std::int64_t busy_ = 0, tickets_ = 0;
};

// Draws jobs and what they do; buffers are kept from one job to the next.
class Drawer {
  public:
    Drawer(const System& system, const Drawing& drawing, std::uint64_t number, Pattern& pattern)
        : system_(system), drawing_(drawing), random_(drawing.seed, number), pattern_(pattern) {}

    void run() {
        pattern_.jobs.clear();
        pattern_.parts.clear();
        const std::uint64_t start = random_.below(4);  // 0: all together, 1: least urgent first
        const bool delays = chance(2);
        const bool late = chance(2);  // the first job as late after its arrival as it may be
        std::vector<std::pair<Job, std::int64_t>> drawn;
        for (std::size_t i = 0; i < system_.tasks.size(); i++) {
            const Task& task = system_.tasks[i];
            const Time window = drawing_.window > 0 ? drawing_.window : task.period - 1;
            Time arrival = start == 0 ? 0 : below(window + 1);
            if (start == 1) {
                arrival = least(i) ? 0 : below(std::min<Time>(window, 3) + 1);
            }
            const Time jitter = system_.extra(i).jitter;
            bool first = true;
            for (Time before = 0; arrival <= drawing_.horizon || first;) {
                const Time lag = first && late ? jitter : late ? 0 : below(jitter + 1);
                before = std::max(before, arrival + lag);
                // Of one instant the less urgent ones first, or in any order.
                const std::int64_t rank =
                    start <= 1 ? task.priority : static_cast<std::int64_t>(random_.bits() >> 2);
                drawn.push_back({{static_cast<std::int64_t>(i), arrival, before}, rank});
                arrival += task.period + (delays && chance(3) ? below(task.period / 2 + 1) : 0);
                first = false;
            }
        }
        std::ranges::stable_sort(
            drawn, {}, [](const auto& each) { return std::pair{each.first.release, each.second}; });
        for (const auto& [job, rank] : drawn) {
            parts(at(job.task), static_cast<std::int64_t>(pattern_.jobs.size()));
            pattern_.jobs.push_back(job);
        }
    }

  private:
    Time below(Time bound) {
        return static_cast<Time>(random_.below(static_cast<std::uint64_t>(bound)));
    }
    bool chance(std::uint64_t of) { return random_.below(of) == 0; }

    // The least urgent task of its processor.
    bool least(std::size_t i) const {
        return std::ranges::none_of(system_.tasks, [&](const Task& other) {
            return home(other) == home(system_.tasks[i]) &&
                   other.priority < system_.tasks[i].priority;
        });
    }

    void add(std::int64_t job, std::int64_t what, Time length) {
        if (length > 0) {
            pattern_.parts.push_back({job, what, length});
        }
    }

    // Sections and suspensions in any order, what is left of the wcet between them.
    void parts(std::size_t i, std::int64_t job) {
        const Task& task = system_.tasks[i];
        const Extra extra = system_.extra(i);
        Time rest = task.wcet;
        pieces_.clear();
        for (const Section& section : system_.sections) {
            if (at(section.task) != i) {
                continue;
            }
            for (std::int64_t n = 0; n < section.count; n++) {
                if (rest >= section.length) {
                    rest -= section.length;
                    pieces_.emplace_back(section.lock, section.length);
                }
            }
        }
        if (extra.suspension > 0) {
            const Time part = chance(2) ? extra.suspension : below(extra.suspension + 1);
            pieces_.emplace_back(kSuspend, part);
            pieces_.emplace_back(kSuspend, extra.suspension - part);
        }
        for (std::size_t n = pieces_.size(); n > 1; n--) {
            std::swap(pieces_[n - 1], pieces_[random_.below(n)]);
        }
        if (std::max(extra.np_max, extra.np_last) > 1 && pieces_.empty()) {
            return stretches(job, rest, extra);
        }
        const Time last = extra.np_last > 1 ? extra.np_last : 0;  // see refusal()
        rest -= last;
        const std::uint64_t kind = random_.below(8);  // 0: all before, 1: all after, 2: less
        if (kind == 2 && rest > 0 && !pieces_.empty()) {
            rest = below(rest + 1);
        }
        cuts_.assign(pieces_.size() + 1, rest);
        for (std::size_t n = 0; n < pieces_.size() && kind > 0; n++) {
            cuts_[n] = kind == 1 ? 0 : below(rest + 1);
        }
        std::ranges::sort(cuts_);
        Time before = 0;
        for (std::size_t n = 0; n < cuts_.size(); n++) {
            computes(job, cuts_[n] - before, extra.np_max);
            before = cuts_[n];
            if (n < pieces_.size()) {
                add(job, pieces_[n].first, pieces_[n].second);
            }
        }
        add(job, kStretch, last);
    }

    void computes(std::int64_t job, Time length, Time longest) {
        while (longest > 1 && length > 0 && !chance(3)) {
            const Time part = std::min(length, chance(2) ? longest : below(longest) + 1);
            add(job, kStretch, part);
            length -= part;
        }
        add(job, kCompute, length);
    }

    // As long as may be, or any.
    void stretches(std::int64_t job, Time rest, const Extra& extra) {
        const Time longest = std::max<Time>(extra.np_max, 1);
        const Time last = std::min(rest, extra.np_last > 0 ? extra.np_last : longest);
        const bool full = chance(2);
        for (rest -= last; rest > 0;) {
            const Time most = std::min(rest, longest);
            const Time length = full ? most : below(most) + 1;
            add(job, kStretch, length);
            rest -= length;
        }
        add(job, kStretch, last);
    }

    const System& system_;
    const Drawing& drawing_;
    Random random_;
    Pattern& pattern_;
    std::vector<std::pair<std::int64_t, Time>> pieces_;
    std::vector<Time> cuts_;
};

}  // namespace

std::vector<std::string> policies() { return {kPolicies.begin(), kPolicies.end()}; }

std::vector<std::string> protocols() {
    std::vector<std::string> names;
    for (const Protocol& each : kProtocols) {
        names.emplace_back(each.name);
    }
    return names;
}

namespace {

std::string refusal_of(const System& system, std::size_t i, std::int64_t clusters) {
    const Task& task = system.tasks[i];
    const std::string name = "task " + std::to_string(i);
    if (clusters > 1 && (task.home < 0 || task.home >= clusters)) {
        return name + ": home is missing, or not there";
    }
    Time sections = 0;
    for (const Section& section : system.sections) {
        sections += at(section.task) == i ? section.count * section.length : 0;
    }
    const Extra extra = system.extra(i);
    if (sections > 0 && extra.np_last > 1 && sections + extra.np_last > task.wcet) {
        return name + ": its sections leave no room for np_last";
    }
    return "";
}

}  // namespace

std::string refusal(const System& system, const Scheduling& how) {
    const Protocol* found = find(how.protocol);
    if (found == nullptr) {
        return "unknown protocol " + how.protocol;
    }
    if (std::ranges::find(kPolicies, how.policy) == kPolicies.end()) {
        return "policy " + how.policy + " is not simulated with " +
               (system.sections.empty() ? "jitter, suspension or np_max" : "locks");
    }
    const bool locks = !system.sections.empty(), edf = is_edf(how.policy);
    if (locks && found->rule == Rule::ceiling && system.processors != 1) {
        return how.protocol + " is simulated on one processor";
    }
    if (locks && edf && how.protocol != "srp") {
        return how.protocol + " is not simulated under EDF, srp is";
    }
    if (locks && edf && (beyond(system) & kSuspension) != 0) {
        return "suspension with locks is not simulated under EDF";
    }
    const std::int64_t clusters = clusters_of(system, how.policy);
    if (clusters > system.processors || system.processors % clusters != 0) {
        return "homes are not clusters of one size";
    }
    const bool anywhere =
        found->rule == Rule::plain || found->rule == Rule::inherit || found->rule == Rule::omlp;
    if (locks && clusters < system.processors && !anywhere) {
        return how.protocol + " is simulated on bound tasks (p-fp)";
    }
    for (std::size_t i = 0; i < system.tasks.size(); i++) {
        if (std::string why = refusal_of(system, i, clusters); !why.empty()) {
            return why;
        }
    }
    return "";
}

void draw(const System& system, const Drawing& drawing, std::uint64_t number, Pattern& pattern) {
    Drawer(system, drawing, number, pattern).run();
}

std::vector<Time> responses(const System& system, const Scheduling& how, const Pattern& pattern,
                            bool together) {
    std::vector<Time> found;
    Machine(system, how, together).run(pattern, found);
    return found;
}

namespace {

bool stretched(const System& system) { return (beyond(system) & kNonPreemptive) != 0; }

}  // namespace

std::vector<Time> worst(const System& system, const Scheduling& how, const Drawing& drawing,
                        std::uint64_t first, std::uint64_t count) {
    std::vector<Time> worst(system.tasks.size()), found;
    Machine machine(system, how, stretched(system));
    Pattern pattern;
    for (std::uint64_t number = first; number < first + count; number++) {
        draw(system, drawing, number, pattern);
        machine.run(pattern, found);
        for (std::size_t job = 0; job < found.size(); job++) {
            Time& most = worst[at(pattern.jobs[job].task)];
            most = std::max(most, found[job]);
        }
    }
    return worst;
}

namespace {

constexpr std::size_t kJobsKept = 1'000'000;

// Adds the jobs of a pattern, and how near to its deadline (or how far beyond) the worst one was.
double judge(const System& system, const Pattern& pattern, const std::vector<Time>& responses,
             Found& found) {
    double nearest = 0;
    for (std::size_t k = 0; k < responses.size(); k++) {
        const Job& job = pattern.jobs[k];
        const Time response = responses[k], deadline = system.tasks[at(job.task)].deadline;
        TaskMetrics& own = found.verdict.result.tasks[at(job.task)];
        if (found.all.size() < kJobsKept) {
            found.all.push_back({job.task, own.released, job.arrival, kNever,
                                 job.arrival + response, job.arrival + deadline});
        }
        own.released++;
        own.completed++;
        own.judged++;
        own.missed += response > deadline;
        own.response_min = std::min(own.response_min, response);
        own.response_max = std::max(own.response_max, response);
        own.tardiness_max = std::max(own.tardiness_max, response - deadline);
        own.slack_min = std::min(own.slack_min, deadline - response);
        own.response_sum += response;
        own.tardiness_sum += std::max<Time>(0, response - deadline);
        own.slack_sum += deadline - response;
        nearest = std::max(nearest, static_cast<double>(response) / static_cast<double>(deadline));
    }
    return nearest;
}

// Once more, with everything.
void show(const System& system, const Pattern& pattern, Machine& machine, Found& found) {
    Result& result = found.verdict.result;
    std::vector<Time> responses;
    std::vector<std::int64_t> numbers(system.tasks.size());
    Log log;
    log.tasks.resize(system.tasks.size());
    log.whole = true;
    for (const Job& job : pattern.jobs) {
        log.jobs.push_back({job.task, numbers[at(job.task)]++, job.arrival, kNever, kNever,
                            job.arrival + system.tasks[at(job.task)].deadline});
    }
    machine.run(pattern, responses, &log);
    found.verdict.releases.resize(system.tasks.size());
    for (std::size_t k = 0; k < responses.size(); k++) {
        JobRecord& job = log.jobs[k];
        job.finish = job.release + responses[k];
        result.until = std::max(result.until, job.finish);
        found.verdict.releases[at(job.task)].push_back(job.release);
        if (job.finish > job.deadline && job.deadline < result.first_miss) {
            result.first_miss = job.deadline;
            result.first_miss_task = static_cast<std::int32_t>(job.task);
            result.first_miss_job = job.job;
        }
    }
    result.jobs = std::move(log.jobs);
    result.segments = std::move(log.segments);
    found.holds = std::move(log.holds);
}

}  // namespace

Found decide(const System& system, const Scheduling& how, const Drawing& longer,
             const Drawing& dense, std::uint64_t patterns, std::int64_t budget) {
    Found found;
    Verdict& verdict = found.verdict;
    Machine machine(system, how, stretched(system));
    Pattern pattern;
    std::vector<Time> responses;
    Log log;
    log.tasks.resize(system.tasks.size());
    verdict.result.tasks.resize(system.tasks.size());
    double most = -1;
    std::uint64_t shown = 0, number = 0;
    const auto drawing = [&](std::uint64_t n) { return n % 2 == 0 ? longer : dense; };
    for (; number < patterns && (number == 0 || log.events < budget); number++) {
        draw(system, drawing(number), number, pattern);
        machine.run(pattern, responses, &log);
        const double nearest = judge(system, pattern, responses, found);
        if (most <= 1 && nearest > most) {
            most = nearest;
            shown = number;
        }
    }
    draw(system, drawing(shown), shown, pattern);
    show(system, pattern, machine, found);
    Result& result = verdict.result;
    result.events = log.events;
    for (std::size_t i = 0; i < system.tasks.size(); i++) {
        TaskMetrics &own = result.tasks[i], &moved = log.tasks[i];
        own.preemptions = moved.preemptions;
        own.migrations = moved.migrations;
        own.cross_cluster = moved.cross_cluster;
        own.task_migrations = moved.task_migrations;
    }
    const std::string of = " of " + std::to_string(number);
    const std::string which = "random pattern " + std::to_string(shown) + of + " (seed " +
                              std::to_string(longer.seed) + ")";
    verdict.because = "no job is late in" + of.substr(3) +
                      " random patterns: simulation proves no more than what it refutes";
    if (result.first_miss != kNever) {
        verdict.answer = Answer::no;
        verdict.proved = true;
        verdict.proof = "miss";
        verdict.because = "a job of task " + std::to_string(result.first_miss_task) +
                          " misses its deadline at " + std::to_string(result.first_miss) + " in " +
                          which;
        verdict.pattern = which;
    } else {
        result.remarks.push_back("pictures show " + which + ", the nearest to a miss");
    }
    for (const Task& task : system.tasks) {
        if (clusters_of(system, how.policy) > 1) {
            result.placed.push_back(static_cast<std::int32_t>(task.home));
        }
    }
    return found;
}

}  // namespace deadbeat::sched::locks
