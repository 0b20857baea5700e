#include "deadbeat/sched/program.hpp"

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

#include "deadbeat/sched/system.hpp"

namespace deadbeat::sched::program {

namespace {

// Urgencies, larger is more urgent: throttled, ordinary, priorities 1 to 99, then deadlines.
constexpr std::int64_t kThrottled = -2, kIdle = -1, kFair = 0;
constexpr std::int64_t kLater = Time{1} << 61;  // less its deadline
constexpr Time kSlice = 100'000'000;            // of round robin: RR_TIMESLICE
constexpr int kNone = -1;
// Virtual time of a CPU's ordinary threads: ns times kScale over the sum of weights. What is left
// is nothing when it is below 1/1024 ns: more than rounding takes.
constexpr int kScaleBits = 50;
constexpr Wide kSlack = Wide{1} << (kScaleBits - 10);

// A heap from which what left, or came again with another key, is dropped when it is on top.
template <class Key>
struct Queue {
    struct Entry {
        Key key;
        Time order;
        int thread;
        std::uint32_t ticket;
        bool operator<(const Entry& other) const {
            return key != other.key ? key < other.key : order > other.order;
        }
    };
    std::vector<Entry> heap;

    void push(const Entry& entry) {
        heap.push_back(entry);
        std::push_heap(heap.begin(), heap.end());
    }
    void pop() {
        std::pop_heap(heap.begin(), heap.end());
        heap.pop_back();
    }
};

// Waiting: for a CPU. Fresh: ordinary, on none yet. Pooled: it shares one.
enum class State { idle, asleep, blocked, throttled, waiting, running, fresh, pooled };

struct Active {
    State state = State::idle;
    std::int64_t job = 0, last_job = 0, first_op = 0, op = 0, op_end = 0;
    bool begun = false, retry = false, spinning = false, throttled = false;
    int cpu = 0, group = 0, lock = kNone, asking = kNone;
    std::uint32_t ticket = 0;
    std::int64_t urgency = 0;
    Time order = 0, left = 0, slice = kSlice;
    Time budget = 0, deadline = 0, period = 0;
    Wide finish = 0;        // in its CPU's virtual time
    std::size_t place = 0;  // among the members there
    std::size_t external = 0, woken = 0;
    std::vector<int> held;
};

struct Cpu {
    int current = kNone;  // not ordinary
    Time since = 0, next = kNever;
    Wide now = 0;  // virtual
    std::int64_t weight = 0;
    std::vector<int> members;  // ordinary threads
    Queue<Wide> ends;          // of theirs
};

struct Held {
    int owner = kNone;
    bool contended = false;  // a futex's 2: unlocking wakes
    Queue<std::int64_t> waiters;
    std::vector<int> spinners;  // in order
};

struct Timer {
    Time at;
    int thread;
    bool replenishes;
    bool operator<(const Timer& other) const {
        return at != other.at           ? at > other.at
               : thread != other.thread ? thread > other.thread
                                        : replenishes < other.replenishes;
    }
};

class Machine {
  public:
    Machine(std::int64_t cpus, const Program& program, Time horizon)
        : program_(program),
          horizon_(horizon),
          threads_(program.threads.size()),
          cpus_(at(cpus)),
          locks_(program.locks.size()),
          outcomes_(program.releases.size(), {-1, -1, -1}) {
        const std::uint64_t all = ~std::uint64_t{0} >> (kMostCpus - cpus);
        std::int64_t job = 0;
        for (std::size_t i = 0; i < threads_.size(); i++) {
            const Thread& thread = program.threads[i];
            Active& own = threads_[i];
            const std::uint64_t mask = static_cast<std::uint64_t>(thread.cpus) & all;
            const auto found = std::ranges::find(masks_, mask);
            own.group = static_cast<int>(found - masks_.begin());
            if (found == masks_.end()) {
                masks_.push_back(mask);
            }
            own.cpu = std::countr_zero(mask);
            own.period = thread.period == 0 ? thread.deadline : thread.period;
            own.deadline = -1;
            own.job = job;
            own.external = externals_.size();
            for (; job < program.job_ends[i]; job++) {
                if (program.releases[at(job)] < 0) {
                    externals_.push_back(job);
                }
            }
            own.last_job = job;
        }
        ready_.resize(masks_.size());
        stuck_.resize(masks_.size());
        sits_.resize(masks_.size() * cpus_.size());
    }

    std::vector<Outcome> run() {
        for (std::size_t i = 0; i < threads_.size(); i++) {
            follow(static_cast<int>(i));
        }
        settle();
        for (;;) {
            refresh();
            Time then = timers_.empty() ? kNever : timers_.front().at;
            for (const Cpu& cpu : cpus_) {
                then = std::min(then, cpu.next);
            }
            if (then >= horizon_) {
                break;
            }
            now_ = then;
            // What computes ends, then timers, then who is most urgent goes on.
            for (std::size_t c = 0; c < cpus_.size(); c++) {
                if (cpus_[c].next <= now_) {
                    advance(c);
                }
            }
            while (!timers_.empty() && timers_.front().at <= now_) {
                fire();
            }
            settle();
        }
        fill_releases();
        return std::move(outcomes_);
    }

  private:
    Active& of(int thread) { return threads_[at(thread)]; }
    const Thread& given(int thread) const { return program_.threads[at(thread)]; }
    std::int64_t protocol(int lock) const { return program_.locks[at(lock)].protocol; }
    bool is_deadline(int i) const { return given(i).policy == kDeadline; }
    bool allowed(int i, std::size_t c) const {
        return (masks_[at(threads_[at(i)].group)] >> c & 1) != 0;
    }

    // ---- time

    void settle() {
        for (;;) {
            if (changed_) {
                dispatch();
            }
            refresh();
            std::size_t c = 0;
            while (c < cpus_.size() && cpus_[c].next > now_) {
                c++;
            }
            if (c == cpus_.size()) {
                return;
            }
            advance(c);
        }
    }

    // Before what a CPU executes changes.
    void touch(std::size_t c) {
        Cpu& cpu = cpus_[c];
        dirty_ |= std::uint64_t{1} << c;
        const Time ran = now_ - cpu.since;
        cpu.since = now_;
        if (ran == 0) {
            return;
        }
        if (cpu.current == kNone) {
            if (cpu.weight > 0) {
                cpu.now += (Wide{ran} << kScaleBits) / cpu.weight;
            }
            return;
        }
        Active& own = of(cpu.current);
        own.left -= own.spinning ? 0 : ran;
        own.slice -= rotates(cpu.current) ? ran : 0;
        own.budget -= spends(cpu.current) ? ran : 0;
    }

    bool spends(int i) const {
        const Active& own = threads_[at(i)];
        return is_deadline(i) && !own.throttled && own.urgency == kLater - own.deadline;
    }
    bool rotates(int i) const {
        return given(i).policy == kRoundRobin && threads_[at(i)].urgency <= 99;
    }

    void refresh() {
        for (; dirty_ != 0; dirty_ &= dirty_ - 1) {
            const auto c = at(std::countr_zero(dirty_));
            Cpu& cpu = cpus_[c];
            Time ahead = kNever - now_;
            if (cpu.current != kNone) {
                const Active& own = of(cpu.current);
                ahead = own.spinning ? ahead : own.left;
                ahead = spends(cpu.current) ? std::min(ahead, own.budget) : ahead;
                ahead = rotates(cpu.current) ? std::min(ahead, own.slice) : ahead;
            } else if (const int i = top(cpu.ends); i != kNone) {
                const Wide rest = (of(i).finish - cpu.now) * cpu.weight - kSlack;
                const Wide one = Wide{1} << kScaleBits;
                const Wide ns = rest <= 0 ? 0 : (rest + one - 1) >> kScaleBits;
                ahead = static_cast<Time>(std::min<Wide>(ahead, ns));
            }
            cpu.next = now_ + ahead;
        }
    }

    void advance(std::size_t c) {
        stirred_ = false;
        touch(c);
        Cpu& cpu = cpus_[c];
        const int i = cpu.current;
        if (i == kNone) {
            for (int next; !stirred_ && (next = due(cpu)) != kNone;) {
                cpu.ends.pop();
                of(next).left = 0;
                step(next);
                if (of(next).state == State::pooled && !of(next).spinning) {
                    await(next);
                }
            }
            return;
        }
        Active& own = of(i);
        if (own.left == 0 && !own.spinning) {
            step(i);
        }
        if (cpu.current == i && spends(i) && own.budget <= 0) {
            exhaust(i);
        }
        if (cpu.current == i && rotates(i) && own.slice <= 0) {
            rotate(i);
        }
    }

    int due(Cpu& cpu) {
        const int i = cpu.current == kNone ? top(cpu.ends) : kNone;
        return i != kNone && (of(i).finish - cpu.now) * cpu.weight <= kSlack ? i : kNone;
    }

    void fire() {
        const Timer timer = timers_.front();
        std::pop_heap(timers_.begin(), timers_.end());
        timers_.pop_back();
        if (timer.replenishes) {
            replenish(timer.thread);
        } else {
            wake(timer.thread);
        }
    }

    void set_timer(int i, Time instant, bool replenishes) {
        timers_.push_back({instant, i, replenishes});
        std::push_heap(timers_.begin(), timers_.end());
    }

    // ---- who runs where

    template <class Key>
    int top(Queue<Key>& queue) {
        while (!queue.heap.empty() &&
               of(queue.heap.front().thread).ticket != queue.heap.front().ticket) {
            queue.pop();
        }
        return queue.heap.empty() ? kNone : queue.heap.front().thread;
    }

    std::int64_t urgency_of(const Cpu& cpu) const {
        return cpu.current != kNone  ? threads_[at(cpu.current)].urgency
               : cpu.members.empty() ? kIdle
                                     : kFair;
    }

    // A ready thread by its urgency; who was on a CPU has left it.
    void attach(int i) {
        Active& own = of(i);
        changed_ = stirred_ = true;
        if (own.urgency > kFair) {
            own.state = State::waiting;
            ready_[at(own.group)].push({own.urgency, own.order, i, own.ticket});
        } else if (own.urgency == kFair) {
            own.state = State::fresh;
            fresh_.push_back(i);
        } else {
            own.state = State::throttled;
        }
    }

    void detach(int i) {
        Active& own = of(i);
        own.ticket++;
        if (own.state == State::running) {
            touch(at(own.cpu));
            cpus_[at(own.cpu)].current = kNone;
        } else if (own.state == State::pooled) {
            leave(i);
        }
        changed_ = true;
    }

    void join(int i, std::size_t c) {
        Active& own = of(i);
        Cpu& cpu = cpus_[c];
        touch(c);
        own.state = State::pooled;
        own.cpu = static_cast<int>(c);
        own.place = cpu.members.size();
        cpu.members.push_back(i);
        cpu.weight += weight(i);
        sits_[c * masks_.size() + at(own.group)]++;
        if (!own.spinning) {
            await(i);
        }
    }

    void await(int i) {
        Active& own = of(i);
        Cpu& cpu = cpus_[at(own.cpu)];
        own.finish = cpu.now + (Wide{own.left} << kScaleBits) / weight(i);
        cpu.ends.push({-own.finish, ++tail_, i, ++own.ticket});
    }

    void leave(int i) {
        Active& own = of(i);
        Cpu& cpu = cpus_[at(own.cpu)];
        touch(at(own.cpu));
        const Wide rest = (own.finish - cpu.now) * weight(i) + (Wide{1} << (kScaleBits - 1));
        own.left = own.spinning ? 0 : static_cast<Time>(std::max(rest, Wide{0}) >> kScaleBits);
        cpu.weight -= weight(i);
        cpu.members[own.place] = cpu.members.back();
        of(cpu.members[own.place]).place = own.place;
        cpu.members.pop_back();
        sits_[at(own.cpu) * masks_.size() + at(own.group)]--;
    }

    std::int64_t weight(int i) const { return given(i).priority; }

    void dispatch() {
        changed_ = false;
        std::ranges::fill(stuck_, 0);
        for (;;) {
            int best = kNone;
            for (std::size_t g = 0; g < ready_.size(); g++) {
                const int i = stuck_[g] != 0 ? kNone : top(ready_[g]);
                if (i != kNone && (best == kNone || before(i, best))) {
                    best = i;
                }
            }
            if (best == kNone) {
                break;
            }
            Active& own = of(best);
            const std::size_t c = target(best);
            if (c == cpus_.size()) {
                stuck_[at(own.group)] = 1;
                continue;
            }
            ready_[at(own.group)].pop();
            touch(c);
            if (const int other = std::exchange(cpus_[c].current, best); other != kNone) {
                attach(other);
                stuck_[at(of(other).group)] = 0;
            }
            own.state = State::running;
            own.cpu = static_cast<int>(c);
        }
        for (std::size_t k = 0; k < fresh_.size(); k++) {
            if (of(fresh_[k]).state == State::fresh) {
                join(fresh_[k], lightest(fresh_[k]));
            }
        }
        fresh_.clear();
        pull();
        changed_ = stirred_ = false;
    }

    bool before(int a, int b) {
        return of(a).urgency != of(b).urgency ? of(a).urgency > of(b).urgency
                                              : of(a).order < of(b).order;
    }

    // Where it was if it is more urgent than what runs there and that can go elsewhere; else the
    // allowed CPU with the least urgent one. All CPUs there are: none.
    std::size_t target(int i) {
        const Active& own = of(i);
        const Cpu& last = cpus_[at(own.cpu)];
        const std::int64_t there = urgency_of(last);
        if (there <= kFair ||
            (there < own.urgency && std::popcount(masks_[at(of(last.current).group)]) > 1)) {
            return at(own.cpu);
        }
        std::size_t found = cpus_.size();
        std::int64_t least = own.urgency;
        for (std::size_t c = 0; c < cpus_.size(); c++) {
            if (allowed(i, c) && urgency_of(cpus_[c]) < least) {
                found = c;
                least = urgency_of(cpus_[c]);
            }
        }
        return found;
    }

    std::size_t lightest(int i) {
        std::size_t best = cpus_.size();
        const auto key = [&](std::size_t c) {
            return std::tuple(cpus_[c].current != kNone, cpus_[c].weight, at(of(i).cpu) != c);
        };
        for (std::size_t c = 0; c < cpus_.size(); c++) {
            if (allowed(i, c) && (best == cpus_.size() || key(c) < key(best))) {
                best = c;
            }
        }
        return best;
    }

    // A CPU with nothing takes an ordinary thread that waits: from where most weight is, the
    // lowest.
    void pull() {
        for (std::size_t c = 0; c < cpus_.size(); c++) {
            if (cpus_[c].current != kNone || !cpus_[c].members.empty()) {
                continue;
            }
            std::size_t from = cpus_.size();
            for (std::size_t k = 0; k < cpus_.size(); k++) {
                const Cpu& other = cpus_[k];
                if (other.members.size() > (other.current == kNone ? 1U : 0U) && offers(k, c) &&
                    (from == cpus_.size() || other.weight > cpus_[from].weight)) {
                    from = k;
                }
            }
            if (from == cpus_.size()) {
                continue;
            }
            int lowest = kNone;
            for (const int i : cpus_[from].members) {
                if (allowed(i, c) && (lowest == kNone || i < lowest)) {
                    lowest = i;
                }
            }
            detach(lowest);
            join(lowest, c);
        }
    }

    bool offers(std::size_t from, std::size_t to) const {
        for (std::size_t g = 0; g < masks_.size(); g++) {
            if (sits_[from * masks_.size() + g] > 0 && (masks_[g] >> to & 1) != 0) {
                return true;
            }
        }
        return false;
    }

    // Behind its equals, if there are any that may run here.
    void rotate(int i) {
        Active& own = of(i);
        touch(at(own.cpu));
        own.slice = kSlice;
        for (std::size_t g = 0; g < ready_.size(); g++) {
            if ((masks_[g] >> own.cpu & 1) != 0 && top(ready_[g]) != kNone &&
                of(top(ready_[g])).urgency == own.urgency) {
                detach(i);
                own.order = ++tail_;
                attach(i);
                return;
            }
        }
    }

    // ---- urgency

    std::int64_t base(int i) const {
        const Active& own = threads_[at(i)];
        if (is_deadline(i)) {
            return own.throttled ? kThrottled : kLater - own.deadline;
        }
        return given(i).policy == kOrdinary ? kFair : given(i).priority;
    }

    std::int64_t effective(int i) {
        std::int64_t most = base(i);
        for (const int lock : of(i).held) {
            if (protocol(lock) == kProtect) {
                most = std::max(most, program_.locks[at(lock)].ceiling);
            } else if (protocol(lock) == kInherit) {
                const int waiter = top(locks_[at(lock)].waiters);
                most = std::max(most, waiter == kNone ? most : of(waiter).urgency);
            }
        }
        return most;
    }

    // After what its urgency is made of changed; along the chain of owners it waits for.
    void reconsider(int i) {
        while (i != kNone) {
            const std::int64_t urgency = effective(i);
            Active& own = of(i);
            if (urgency == own.urgency) {
                return;
            }
            own.order = urgency < own.urgency ? --head_ : ++tail_;
            const State state = own.state;
            if (state == State::idle || state == State::asleep) {
                own.urgency = urgency;
                return;
            }
            if (state == State::blocked) {
                own.urgency = urgency;
                if (protocol(own.lock) != kInherit) {
                    return;
                }
                Held& lock = locks_[at(own.lock)];
                lock.waiters.push({urgency, own.order, i, ++own.ticket});
                i = lock.owner;
                continue;
            }
            if (state == State::running && urgency > kFair) {
                touch(at(own.cpu));
                changed_ = stirred_ = true;
                own.urgency = urgency;
                return;
            }
            detach(i);
            own.urgency = urgency;
            if (state == State::running && urgency == kFair) {
                changed_ = stirred_ = true;
                join(i, at(own.cpu));
            } else {
                attach(i);
            }
            return;
        }
    }

    // ---- deadlines

    // When it wakes: whether its budget and deadline can be kept (the kernel's update_dl_entity).
    void begin_server(int i) {
        Active& own = of(i);
        const Thread& server = given(i);
        if (own.throttled) {
            return;
        }
        const Time next = own.deadline - server.deadline + own.period;
        const Time laxity = own.deadline - now_;
        const Wide most = Wide{laxity} * server.runtime / server.deadline;
        if (own.deadline >= 0 && laxity >= 0 && own.budget > most && server.deadline < own.period) {
            own.budget = static_cast<Time>(most);
        }
        if (own.deadline >= 0 && next > now_ && (own.budget <= 0 || laxity < 0)) {
            own.budget = 0;
            own.throttled = true;
            set_timer(i, next, true);
        } else if (own.deadline < 0 || laxity < 0 || own.budget <= 0 || own.budget > most) {
            own.deadline = now_ + server.deadline;
            own.budget = server.runtime;
        }
    }

    void exhaust(int i) {
        Active& own = of(i);
        own.throttled = true;
        const Time next = own.deadline - given(i).deadline + own.period;
        if (next <= now_) {
            replenish(i);
            return;
        }
        set_timer(i, next, true);
        reconsider(i);
    }

    void replenish(int i) {
        Active& own = of(i);
        if (own.state == State::running) {
            touch(at(own.cpu));
        }
        own.throttled = false;
        while (own.budget <= 0) {
            own.deadline += own.period;
            own.budget += given(i).runtime;
        }
        if (own.deadline < now_) {
            own.deadline = now_ + given(i).deadline;
            own.budget = given(i).runtime;
        }
        reconsider(i);
    }

    // ---- jobs and operations

    // Ready, after a sleep or a wait.
    void wake(int i) {
        Active& own = of(i);
        own.ticket++;
        own.order = ++tail_;
        own.state = State::idle;
        if (is_deadline(i)) {
            begin_server(i);
        }
        own.urgency = effective(i);
        attach(i);
    }

    // To its next job: if that is ready it goes on, or wakes, else it waits for it.
    void follow(int i) {
        Active& own = of(i);
        const bool on = own.state == State::running || own.state == State::pooled;
        const Time release = own.job == own.last_job ? -1 : release_of(i);
        const Time ready = release + given(i).wake;
        own.begun = false;
        if (on && (release < 0 || ready > now_)) {
            detach(i);
        }
        if (release < 0) {
            own.state = State::idle;
        } else if (ready > now_) {
            own.state = State::asleep;
            set_timer(i, ready, false);
        } else if (!on) {
            wake(i);
        }
    }

    // Of its next job, -1: by a wake to come.
    Time release_of(int i) {
        const std::int64_t job = of(i).job;
        Time& release = outcomes_[at(job)].release;
        const Time said = program_.releases[at(job)];
        if (release < 0 && said >= 0) {
            const bool first = job == (i == 0 ? 0 : program_.job_ends[at(i) - 1]);
            release = given(i).how == 1 && !first ? now_ + said : said;
        }
        return release;
    }

    bool runs(int i) {
        const Active& own = of(i);
        return own.state == State::running ||
               (own.state == State::pooled && cpus_[at(own.cpu)].current == kNone);
    }

    // Until it computes, waits, or changed what others do. It runs, and nothing is left.
    void step(int i) {
        stirred_ = false;
        do {
            execute(i);
        } while (runs(i) && of(i).left == 0 && !of(i).spinning && !stirred_);
    }

    void execute(int i) {
        Active& own = of(i);
        const std::size_t job = at(own.job);
        if (!own.begun) {
            own.begun = true;
            own.op = job == 0 ? 0 : program_.op_ends[job - 1];
            own.op_end = program_.op_ends[job];
            outcomes_[job].start = now_;
        }
        if (own.op == own.op_end) {
            outcomes_[job].end = now_;
            own.job++;
            follow(i);
            return;
        }
        const Operation& operation = program_.operations[at(own.op)];
        const int target = static_cast<int>(operation.target);
        switch (operation.kind) {
            case kCompute:
                own.op++;
                touch(at(own.cpu));
                own.left = operation.ns;
                break;
            case kLock:
                lock(i, target);
                break;
            case kUnlock:
                own.op++;
                unlock(i, target);
                break;
            case kSuspend:
                own.op++;
                if (operation.ns > 0) {
                    detach(i);
                    own.state = State::asleep;
                    set_timer(i, now_ + operation.ns, false);
                }
                break;
            case kWake:
                own.op++;
                release(target);
                break;
        }
    }

    // A wake for the next job that waits for one, perhaps too early.
    void release(int i) {
        Active& own = of(i);
        const std::size_t next = own.external + own.woken;
        const std::size_t end =
            at(i) + 1 < threads_.size() ? of(i + 1).external : externals_.size();
        if (next >= end) {
            return;
        }
        own.woken++;
        outcomes_[at(externals_[next])].release = now_;
        if (own.state == State::idle && own.job == externals_[next]) {
            follow(i);
        }
    }

    void lock(int i, int which) {
        Active& own = of(i);
        Held& lock = locks_[at(which)];
        const std::int64_t how = protocol(which);
        if (how == kProtect && own.asking != which) {
            own.asking = which;
            own.held.push_back(which);
            reconsider(i);
            if (!runs(i)) {
                return;
            }
        }
        if (lock.owner == kNone) {
            lock.contended = own.retry;
            take(i, which);
            return;
        }
        if (how == kSpin) {
            touch(at(own.cpu));
            own.spinning = true;
            lock.spinners.push_back(i);
            return;
        }
        lock.contended = true;
        detach(i);
        own.state = State::blocked;
        own.lock = which;
        own.order = ++tail_;
        const std::int64_t key = how == kInherit  ? own.urgency
                                 : is_deadline(i) ? 100
                                                  : std::max(base(i), kFair);
        lock.waiters.push({key, own.order, i, own.ticket});
        if (how == kInherit) {
            reconsider(lock.owner);
        }
    }

    // It runs, or did when it asked.
    void take(int i, int which) {
        Active& own = of(i);
        locks_[at(which)].owner = i;
        own.op++;
        own.retry = false;
        own.asking = kNone;
        if (protocol(which) != kProtect) {
            own.held.push_back(which);
        }
    }

    void unlock(int i, int which) {
        Active& own = of(i);
        Held& lock = locks_[at(which)];
        std::erase(own.held, which);
        lock.owner = kNone;
        if (protocol(which) == kSpin) {
            stop_spinning(which);
            return;
        }
        const bool hands = protocol(which) == kInherit;
        const int next = hands || lock.contended ? top(lock.waiters) : kNone;
        lock.contended = false;
        if (next != kNone) {
            lock.waiters.pop();
            of(next).lock = kNone;
            of(next).retry = !hands;
            if (hands) {
                take(next, which);
            }
            wake(next);
        }
        reconsider(i);
    }

    // The first that spins on a CPU has it; where none does, each tries again when it runs.
    void stop_spinning(int which) {
        std::vector<int>& spinners = locks_[at(which)].spinners;
        const auto first = std::ranges::find_if(spinners, [&](int i) { return runs(i); });
        if (first != spinners.end()) {
            const int i = *first;
            spinners.erase(first);
            resume(i);
            take(i, which);
            return;
        }
        for (const int i : spinners) {
            resume(i);
        }
        spinners.clear();
    }

    void resume(int i) {
        Active& own = of(i);
        if (own.state == State::running || own.state == State::pooled) {
            touch(at(own.cpu));
        }
        own.spinning = false;
        own.left = 0;
        if (own.state == State::pooled) {
            await(i);
        }
    }

    void fill_releases() {
        for (std::size_t i = 0, job = 0; i < threads_.size(); i++) {
            for (std::size_t first = job; job < at(program_.job_ends[i]); job++) {
                Time& release = outcomes_[job].release;
                if (release < 0 && program_.releases[job] >= 0 &&
                    (program_.threads[i].how == 0 || job == first)) {
                    release = program_.releases[job];
                }
                release = release < horizon_ ? release : -1;
            }
        }
    }

    const Program& program_;
    const Time horizon_;
    Time now_ = 0, head_ = 0, tail_ = 0;
    std::vector<Active> threads_;
    std::vector<Cpu> cpus_;
    std::vector<Held> locks_;
    std::vector<Outcome> outcomes_;
    std::vector<std::uint64_t> masks_;        // of groups of threads
    std::vector<Queue<std::int64_t>> ready_;  // of each
    std::vector<char> stuck_;                 // of each: its first finds no CPU
    std::vector<std::int64_t> sits_;          // ordinary threads of each on each CPU
    std::vector<int> fresh_;
    std::vector<std::int64_t> externals_;  // jobs that are released by a wake
    std::vector<Timer> timers_;
    std::uint64_t dirty_ = 0;
    bool changed_ = false;  // others may be to run
    bool stirred_ = false;  // the same, by the step that is executed
};

}  // namespace

std::vector<Outcome> run(std::int64_t cpus, const Program& program, Time horizon) {
    return Machine(cpus, program, horizon).run();
}

}  // namespace deadbeat::sched::program
