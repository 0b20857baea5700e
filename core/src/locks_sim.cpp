#include "deadbeat/sched/locks_sim.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "deadbeat/sched/random.hpp"

namespace deadbeat::sched::locks {

namespace {

enum class Rule { plain, inherit, ceiling, mpcp, fmlp, spin, served };

struct Protocol {
    const char* name;
    Rule rule;
    bool fifo;   // waiters queue in order of request, else of priority
    bool stays;  // a waiter keeps its processor from who is less urgent (msrp: from all)
    bool steal;  // a released lock is free: a more urgent requester may be faster than the waiter
};

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
};

const Protocol* find(const std::string& name) {
    const auto* found = std::ranges::find(kProtocols, name, &Protocol::name);
    return found == kProtocols.end() ? nullptr : found;
}

constexpr std::size_t kNobody = std::numeric_limits<std::size_t>::max();
constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();

std::size_t home(const Task& task) { return task.home < 0 ? 0 : at(task.home); }

class Machine {
  public:
    Machine(const System& system, const Protocol& protocol, bool together)
        : system_(system), protocol_(protocol), together_(together), active_(system.tasks.size()) {
        std::size_t count = 0;
        for (const Section& section : system.sections) {
            count = std::max(count, at(section.lock) + 1);
        }
        locks_.resize(count);
        for (Lock& lock : locks_) {
            lock.outside.assign(at(system.processors), kNone);
        }
        for (const Section& section : system.sections) {
            const Task& task = system.tasks[at(section.task)];
            Lock& lock = locks_[at(section.lock)];
            lock.ceiling = std::max(lock.ceiling, task.priority);
            for (std::size_t k = 0; k < lock.outside.size(); k++) {
                if (k != home(task)) {
                    lock.outside[k] = std::max(lock.outside[k], task.priority);
                }
            }
        }
        local_.resize(at(system.processors));
        for (std::size_t i = 0; i < system.tasks.size(); i++) {
            for (std::size_t k = 0; k < local_.size(); k++) {
                if (k == home(system.tasks[i]) || protocol.rule == Rule::served) {
                    local_[k].push_back(i);
                }
            }
        }
        running_.resize(local_.size());
    }

    void run(const Pattern& pattern, std::vector<Time>& responses) {
        begin(pattern, responses);
        std::size_t next = 0;
        for (Time now = 0; next < pattern.jobs.size() || busy_ > 0;) {
            settle(now);
            const Time then = next_event(now, next);
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
        std::int64_t ticket = 0;
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
        }
        busy_ = 0;
        tickets_ = 0;
        std::ranges::fill(running_, kNobody);
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
        own.inside = own.waiting = own.away = false;
        own.left = part(i).length;
    }

    bool pending(std::size_t i) const { return active_[i].head < active_[i].queue.size(); }
    const Part& part(std::size_t i) const { return pattern_->parts[active_[i].part]; }

    bool ready(std::size_t i, Time now) const {
        return pending(i) && active_[i].wakes <= now && (!active_[i].waiting || protocol_.stays);
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
            return {own.away ? 1 : 0, task.priority};
        }
        if (what == kStretch) {
            return {2, 0};
        }
        const Lock& lock = locks_[at(what)];
        const std::int64_t outside = lock.outside[home(task)];
        std::int64_t most = task.priority;
        switch (protocol_.rule) {
            case Rule::plain:
                break;
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
                return {0, lock.ceiling};
            case Rule::served:
                return {1, lock.ceiling};
        }
        return {0, most};
    }

    // Lock i is served on processor i modulo m.
    std::size_t place(std::size_t i) const {
        return active_[i].away ? at(part(i).what) % local_.size() : home(system_.tasks[i]);
    }

    // Of the same urgency: who is inside, then who was released before.
    std::size_t choose(std::size_t processor, Time now) const {
        std::size_t best = kNobody;
        Urgency most{};
        for (const std::size_t i : local_[processor]) {
            if (!ready(i, now) || place(i) != processor) {
                continue;
            }
            const Urgency found = urgency(i);
            if (best == kNobody || found > most || (found == most && before(i, best))) {
                best = i;
                most = found;
            }
        }
        return best;
    }

    bool before(std::size_t a, std::size_t b) const {
        const bool inside = active_[a].inside || active_[a].waiting;
        if (inside != (active_[b].inside || active_[b].waiting)) {
            return inside;
        }
        return active_[a].queue[active_[a].head] < active_[b].queue[active_[b].head];
    }

    // Until each processor has a job that computes: the first one with another goes first.
    void settle(Time now) {
        for (std::size_t k = 0; k < local_.size();) {
            const std::size_t i = choose(k, now);
            running_[k] = i;
            k = i != kNobody && enter(i, now) ? 0 : k + 1;
        }
    }

    // Whether something changed.
    bool enter(std::size_t i, Time now) {
        Active& own = active_[i];
        const std::int64_t what = part(i).what;
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
        if (queued == lock.waiters.end()) {
            lock.waiters.push_back(i);
        }
        own.waiting = true;
        return true;
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

    const System& system_;
    const Protocol& protocol_;
    bool together_;
    std::vector<Active> active_;
    std::vector<Lock> locks_;
    std::vector<std::vector<std::size_t>> local_;
    std::vector<std::size_t> running_;  // the task of each processor
    std::vector<std::size_t> firsts_;   // part of each job
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
            add(job, kCompute, cuts_[n] - before);
            before = cuts_[n];
            if (n < pieces_.size()) {
                add(job, pieces_[n].first, pieces_[n].second);
            }
        }
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

std::vector<std::string> protocols() {
    std::vector<std::string> names;
    for (const Protocol& each : kProtocols) {
        names.emplace_back(each.name);
    }
    return names;
}

std::string refusal(const System& system, const std::string& protocol) {
    const Protocol* found = find(protocol);
    if (found == nullptr) {
        return "unknown protocol " + protocol;
    }
    if (found->rule == Rule::ceiling && system.processors != 1) {
        return protocol + " is simulated on one processor";
    }
    for (std::size_t i = 0; i < system.tasks.size(); i++) {
        const Task& task = system.tasks[i];
        if (system.processors > 1 && (task.home < 0 || task.home >= system.processors)) {
            return "task " + std::to_string(i) + ": home is missing, a processor is needed";
        }
        const Extra extra = system.extra(i);
        const bool sections =
            std::ranges::any_of(system.sections, [&](const Section& s) { return at(s.task) == i; });
        if (std::max(extra.np_max, extra.np_last) > 1 && (sections || extra.suspension > 0)) {
            return "task " + std::to_string(i) +
                   ": np_max with sections or suspension is not simulated";
        }
    }
    return "";
}

void draw(const System& system, const Drawing& drawing, std::uint64_t number, Pattern& pattern) {
    Drawer(system, drawing, number, pattern).run();
}

std::vector<Time> responses(const System& system, const std::string& protocol,
                            const Pattern& pattern, bool together) {
    std::vector<Time> found;
    Machine(system, *find(protocol), together).run(pattern, found);
    return found;
}

std::vector<Time> worst(const System& system, const std::string& protocol, const Drawing& drawing,
                        std::uint64_t first, std::uint64_t count) {
    std::vector<Time> worst(system.tasks.size()), found;
    const bool together = (beyond(system) & kNonPreemptive) != 0;
    Machine machine(system, *find(protocol), together);
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

}  // namespace deadbeat::sched::locks
