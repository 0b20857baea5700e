// What runs a program: its state, and which thread has which CPU.
#pragma once

#include <algorithm>
#include <bit>

#include "deadbeat/sched/program.hpp"
#include "deadbeat/sched/system.hpp"

namespace deadbeat::sched::program {

// Urgencies, larger is more urgent: throttled, ordinary, priorities 1 to 99, then deadlines.
inline constexpr std::int64_t kThrottled = -2, kIdle = -1, kFair = 0;
inline constexpr std::int64_t kMostFixed = 100;        // of fixed priorities, and of ceilings
inline constexpr std::int64_t kLater = Time{1} << 61;  // less its deadline
inline constexpr Time kSlice = 100'000'000;            // of round robin: RR_TIMESLICE
inline constexpr int kNone = -1;
// Virtual time of a CPU's ordinary threads: ns times kScale over the sum of weights. What is left
// is nothing when it is below 1/1024 ns: more than rounding takes.
inline constexpr int kScaleBits = 50;
inline constexpr Wide kSlack = Wide{1} << (kScaleBits - 10);

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

// Timers that are of no thread: of throttling, and down from the second of each CPU's fair server.
inline constexpr int kPeriod = -1, kServer = -2;

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
    Time since = 0;
    Wide now = 0;  // virtual
    std::int64_t weight = 0;
    std::vector<int> members;  // ordinary threads
    Queue<Wide> ends;          // of theirs
    Time rest = 0;             // until fixed priorities are throttled
    // Of the fair server: what is left of its budget since, and whether it is due.
    Time fair = 0, fair_since = -1;
};

struct Held {
    int owner = kNone;
    bool contended = false;  // a futex's 2: unlocking wakes
    Queue<std::int64_t> waiters;
    std::vector<int> spinners;  // in order
};

struct Timer {
    Time at;
    int thread;  // or one of those below
    bool replenishes;
    bool operator<(const Timer& other) const {
        return at != other.at           ? at > other.at
               : thread != other.thread ? thread > other.thread
                                        : replenishes < other.replenishes;
    }
};

class Machine {
  public:
    Machine(std::int64_t cpus, const Program& program, Time horizon);
    std::vector<Outcome> run();

  private:
    Active& of(int thread) { return threads_[at(thread)]; }
    const Thread& given(int thread) const { return program_.threads[at(thread)]; }
    std::int64_t protocol(int lock) const { return program_.locks[at(lock)].protocol; }
    bool is_deadline(int i) const { return given(i).policy == kDeadline; }

    bool spends(int i) const {
        const Active& own = threads_[at(i)];
        return is_deadline(i) && !own.throttled && own.urgency == kLater - own.deadline;
    }
    // Of those that throttling stops.
    bool limited(int i) const {
        const std::int64_t urgency = threads_[at(i)].urgency;
        return urgency > kFair && urgency <= kMostFixed;
    }
    bool throttles(int i) const { return program_.limits.period > 0 && limited(i) && !boosted(i); }
    bool boosted(int i) const { return threads_[at(i)].urgency > base(i); }
    // CPUs on which it may not run now.
    std::uint64_t closed(int i) const {
        return !limited(i) ? 0 : (boosted(i) ? 0 : stopped_) | served_;
    }
    bool rotates(int i) const {
        return given(i).policy == kRoundRobin && threads_[at(i)].urgency <= 99;
    }

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

    std::int64_t weight(int i) const { return given(i).priority; }

    static std::size_t first(std::uint64_t cpus) { return at(std::countr_zero(cpus)); }
    static bool has(std::uint64_t cpus, int c) { return (cpus >> c & 1) != 0; }
    std::uint64_t mask(int i) const { return masks_[at(threads_[at(i)].group)]; }

    bool runs(int i) {
        const Active& own = of(i);
        return own.state == State::running ||
               (own.state == State::pooled && cpus_[at(own.cpu)].current == kNone);
    }

    // Time.
    void settle();
    void touch(std::size_t c);
    void refresh();
    void advance(std::size_t c);
    int due(Cpu& cpu);
    void fire();
    void set_timer(int i, Time instant, bool replenishes);

    // What is left to others.
    void give_way(std::size_t c);
    void begin_period();
    void await_server(std::size_t c);
    void serve(std::size_t c);
    void renew_service(std::size_t c);
    void end_service(std::size_t c);

    // Who runs where.
    void attach(int i);
    void detach(int i);
    void join(int i, std::size_t c);
    void await(int i);
    void leave(int i);
    void mark(std::size_t c);
    void dispatch();
    bool before(int a, int b);
    std::size_t target(int i);
    std::size_t lightest(int i);
    void pull();
    bool offers(std::size_t from, std::size_t to) const;
    void rotate(int i);

    // Urgency.
    std::int64_t base(int i) const;
    std::int64_t effective(int i);
    void reconsider(int i);

    // Deadlines.
    void begin_server(int i);
    void exhaust(int i);
    void replenish(int i);

    // Jobs and operations.
    void wake(int i);
    void follow(int i);
    Time release_of(int i);
    void step(int i);
    void execute(int i);
    void release(int i);
    void lock(int i, int which);
    void take(int i, int which);
    void unlock(int i, int which);
    void stop_spinning(int which);
    void resume(int i);
    void fill_releases();

    const Program& program_;
    const Time horizon_;
    Time now_ = 0, head_ = 0, tail_ = 0;
    std::vector<Active> threads_;
    std::vector<Cpu> cpus_;
    std::vector<Time> next_;  // of each: when it changes by itself
    std::vector<Held> locks_;
    std::vector<Outcome> outcomes_;
    std::vector<std::uint64_t> masks_;        // of groups of threads
    std::vector<Queue<std::int64_t>> ready_;  // of each
    std::vector<char> stuck_;                 // of each: its first finds no CPU
    std::vector<std::int64_t> sits_;          // ordinary threads of each on each CPU
    std::vector<int> fresh_;
    std::vector<std::int64_t> externals_;  // jobs that are released by a wake
    std::vector<Timer> timers_;
    // CPUs: next_ is to renew; nothing to do; a real-time thread; an ordinary thread that waits.
    std::uint64_t dirty_ = 0, idle_, real_ = 0, crowded_ = 0;
    std::uint64_t stopped_ = 0, served_ = 0;  // by throttling; by the fair server
    bool periodic_ = false;                   // the period of throttling has begun
    bool changed_ = false;                    // others may be to run
    bool stirred_ = false;                    // the same, by the step that is executed
};

}  // namespace deadbeat::sched::program
