// What a program must be to run.
#include <algorithm>

#include "deadbeat/sched/program.hpp"
#include "deadbeat/sched/system.hpp"

namespace deadbeat::sched::program {

namespace {

bool within(std::int64_t value, std::int64_t least, std::int64_t most) {
    return value >= least && value <= most;
}

std::string thread_defect(const Thread& thread, std::uint64_t all) {
    if (!within(thread.policy, kOrdinary, kDeadline)) {
        return "policy must be 0 (ordinary), 1 (fifo), 2 (rr) or 3 (deadline)";
    }
    if (thread.policy == kOrdinary && !within(thread.priority, 1, 100'000)) {
        return "an ordinary thread's weight must be 1 to 100000 (nice 0: 1024)";
    }
    if ((thread.policy == kFifo || thread.policy == kRoundRobin) &&
        !within(thread.priority, 1, 99)) {
        return "priority must be 1 to 99";
    }
    if ((static_cast<std::uint64_t>(thread.cpus) & all) == 0) {
        return "its mask allows none of the CPUs";
    }
    if (!within(thread.how, 0, 1)) {
        return "how must be 0 (instants) or 1 (sleeps)";
    }
    if (!within(thread.first, 0, kMostCpus)) {
        return "first must be 0 to 64";
    }
    if (!within(thread.wake, 0, kLongest)) {
        return "wake must be 0 to 2^50 ns";
    }
    if (thread.policy == kDeadline &&
        !(within(thread.runtime, 1, thread.deadline) && within(thread.deadline, 1, kLongest) &&
          (thread.period == 0 || within(thread.period, thread.deadline, kLongest)))) {
        return "must have 1 <= runtime <= deadline <= period <= 2^50 ns (period 0: the deadline)";
    }
    return "";
}

std::string lock_defect(const Lock& lock) {
    if (!within(lock.protocol, kPlain, kSpin)) {
        return "protocol must be 0 (none), 1 (inherit), 2 (protect) or 3 (spin)";
    }
    if (lock.protocol == kProtect && !within(lock.ceiling, 1, 99)) {
        return "ceiling must be 1 to 99";
    }
    return "";
}

// Of operation `o` of a thread that holds what `held` marks.
std::string operation_defect(const Program& program, const Operation& o, std::vector<char>& held) {
    if (!within(o.kind, kCompute, kWake)) {
        return "kind must be 0 (compute), 1 (lock), 2 (unlock), 3 (suspend) or 4 (wake)";
    }
    if (o.kind == kCompute || o.kind == kSuspend) {
        return within(o.ns, 0, kLongest) ? "" : "ns must be 0 to 2^50";
    }
    const std::size_t count = o.kind == kWake ? program.threads.size() : program.locks.size();
    if (o.target < 0 || at(o.target) >= count) {
        return (o.kind == kWake ? "no thread " : "no lock ") + std::to_string(o.target);
    }
    if (o.kind != kWake) {
        char& own = held[at(o.target)];
        if ((own != 0) == (o.kind == kLock)) {
            return (own != 0 ? "locks what it holds, lock "
                             : "unlocks what it does not hold, lock ") +
                   std::to_string(o.target);
        }
        own = o.kind == kLock;
    }
    return "";
}

// Rows `ends` says, in order and to the last one.
bool cumulative(std::span<const std::int64_t> ends, std::size_t count) {
    std::int64_t last = 0;
    for (const std::int64_t end : ends) {
        if (end < last) {
            return false;
        }
        last = end;
    }
    return at(last) == count;
}

}  // namespace

std::string refusal(std::int64_t cpus, const Program& program, Time horizon) {
    if (!within(cpus, 1, kMostCpus)) {
        return "cpus must be 1 to 64";
    }
    if (!within(horizon, 1, kLongest)) {
        return "horizon must be 1 to 2^50 ns";
    }
    if (program.threads.size() > at(kMostThreads)) {
        return "more than 1024 threads";
    }
    if (program.job_ends.size() != program.threads.size() ||
        !cumulative(program.job_ends, program.releases.size())) {
        return "job_ends must count the releases of the threads up to each";
    }
    if (program.op_ends.size() != program.releases.size() ||
        !cumulative(program.op_ends, program.operations.size())) {
        return "op_ends must count the operations of the jobs up to each";
    }
    const Limits& limits = program.limits;
    if (!within(limits.begin, -1, kLongest) || !within(limits.period, 0, kLongest) ||
        !within(limits.fair_period, 0, kLongest) ||
        (limits.period > 0 && !within(limits.runtime, 1, limits.period)) ||
        (limits.fair_period > 0 && !within(limits.fair_runtime, 1, limits.fair_period))) {
        return "limits: 1 <= runtime <= period <= 2^50 ns (period 0: none)";
    }
    for (const Lock& lock : program.locks) {
        if (const std::string why = lock_defect(lock); !why.empty()) {
            return "locks[" + std::to_string(&lock - program.locks.data()) + "]: " + why;
        }
    }
    const std::uint64_t all = ~std::uint64_t{0} >> (kMostCpus - cpus);
    std::vector<char> held(program.locks.size());
    std::size_t job = 0, op = 0;
    for (std::size_t i = 0; i < program.threads.size(); i++) {
        const std::string where = "threads[" + std::to_string(i) + "]: ";
        if (const std::string why = thread_defect(program.threads[i], all); !why.empty()) {
            return where + why;
        }
        std::ranges::fill(held, 0);
        for (; job < at(program.job_ends[i]); job++) {
            if (!within(program.releases[job], -1, kLongest)) {
                return where + "releases[" + std::to_string(job) + "] must be -1 to 2^50 ns";
            }
            for (; op < at(program.op_ends[job]); op++) {
                const std::string why = operation_defect(program, program.operations[op], held);
                if (!why.empty()) {
                    return where + "ops[" + std::to_string(op) + "]: " + why;
                }
            }
        }
    }
    return "";
}

}  // namespace deadbeat::sched::program
