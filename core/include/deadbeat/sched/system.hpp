// Task systems: sporadic or periodic tasks on identical processors.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "deadbeat/sched/time.hpp"

namespace deadbeat::sched {

// All fields 64-bit and in this order: a numpy array of shape (tasks, 9) is an array of these.
struct Task {
    Time wcet;      // C >= 1
    Time period;    // T >= 1, the minimum distance of releases where they are sporadic
    Time deadline;  // D >= 1, relative
    Time offset;    // O >= 0, the first release
    std::int64_t
        priority;        // larger is more urgent, as in SCHED_FIFO; used where priorities are given
    std::int64_t home;   // cluster it is bound to, or -1: a partitioning heuristic decides
    Time budget;         // constant-bandwidth server: runtime (0: wcet),
    Time server_period;  // period (0: period)
    Time server_deadline;  // and relative deadline (0: deadline)
};
inline constexpr std::size_t kTaskFields = 9;
static_assert(sizeof(Task) == kTaskFields * sizeof(Time));

// The place of a task or processor in a vector.
inline std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

// At most `count` requests of `lock` by a job of `task`, of at most `length` each, which is part of
// its wcet. A lock may have several of a task.
struct Section {
    std::int64_t task, lock, count;
    Time length;
    std::int64_t server = -1;  // processor that serves the lock, where one does; -1: lock modulo m

    std::int32_t served_on(std::int32_t processors) const {
        return static_cast<std::int32_t>(server >= 0 ? server : lock % processors);
    }
};
inline constexpr std::size_t kSectionFields = 5;
static_assert(sizeof(Section) == kSectionFields * sizeof(Time));

// What else a task is.
struct Extra {
    Time jitter;      // from arrival to release, at most
    Time suspension;  // of a job, at most
    Time np_max;      // longest stretch without preemption (0: 1)
    Time np_last;     // the last of a job (0: any)

    // What the longest one of all keeps others waiting: it began an instant before.
    Time stretch() const { return std::max({np_max, np_last, Time{1}}) - 1; }
};
inline constexpr std::size_t kExtraFields = 4;
static_assert(sizeof(Extra) == kExtraFields * sizeof(Time));

// What few tasks have: `a` and `b` are
enum class DetailKind : std::int64_t {
    step = 0,     // of its arrival curve: in any a at most b arrivals; all again every period
    node = 1,     // of its DAG: number a takes b
    edge = 2,     // node a ends before node b, a later number, starts
    trigger = 3,  // task a releases it
    cpu = 4,      // it may execute on processor a, not on those that are not listed
    bcet = 5,     // a job takes a at least
};
struct Detail {
    std::int64_t task;
    DetailKind kind;
    Time a, b;
};
inline constexpr std::size_t kDetailFields = 4;
static_assert(sizeof(Detail) == kDetailFields * sizeof(Time));

struct System {
    std::int32_t processors;
    std::span<const Task> tasks;
    std::span<const Section> sections = {};  // by task
    std::span<const Extra> extras = {};      // of every task, or empty: none has any
    std::span<const Detail> details = {};    // by task and kind

    Extra extra(std::size_t task) const { return extras.empty() ? Extra{} : extras[task]; }
};

// What a system has beside tasks that compute: a test that does not model it says nothing of it.
enum Beyond : unsigned {
    kNothing = 0,
    kLocks = 1,
    kJitter = 2,
    kSuspension = 4,
    kNonPreemptive = 8,
    kArrivals = 16,
    kDag = 32,
    kTriggers = 64,
    kAffinity = 128,
    kShorter = 256,  // jobs: a least execution time
};
unsigned beyond(const System& system);
// Of one task, in order.
std::span<const Detail> details_of(const System& system, std::size_t task, DetailKind kind);
// What of it a test ignores that models `modelled`, in words; nullptr: nothing.
const char* ignored(const System& system, unsigned modelled);

inline constexpr std::int32_t kProcessorsMax = 1024;
inline constexpr std::size_t kTasksMax = 65535;
inline constexpr Time kArrivalsMax = 1'000'000;

// Every defect of `system`, one line each ("task 3: period is 0, must be 1 or more"); empty: sound.
std::vector<std::string> defects(const System& system);

// Least common multiple of the periods, or nothing when it is above kTimeMax.
std::optional<Time> hyperperiod(const System& system);

// Greatest common divisor of all parameters that are times (costs are the caller's matter).
Time common_divisor(const System& system);

// Sign of (sum of C/T) - bound, exact for whatever the parameters are.
int compare_utilisation(const System& system, std::int64_t bound);

bool constrained(const System& system);  // D <= T everywhere
bool implicit(const System& system);     // D == T everywhere
bool synchronous(const System& system);  // O == 0 everywhere

}  // namespace deadbeat::sched
