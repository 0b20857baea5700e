// Jobs of a program and their operations.
#include "deadbeat/sched/program.hpp"

#include <utility>

#include "program_machine.hpp"

namespace deadbeat::sched::program {

Machine::Machine(std::int64_t cpus, const Program& program, Time horizon)
    : program_(program),
      horizon_(horizon),
      threads_(program.threads.size()),
      cpus_(at(cpus)),
      next_(at(cpus), kNever),
      locks_(program.locks.size()),
      outcomes_(program.releases.size(), {-1, -1, -1}),
      idle_(~std::uint64_t{0} >> (kMostCpus - cpus)) {
    std::int64_t job = 0;
    for (std::size_t i = 0; i < threads_.size(); i++) {
        const Thread& thread = program.threads[i];
        Active& own = threads_[i];
        const std::uint64_t mask = static_cast<std::uint64_t>(thread.cpus) & idle_;
        const auto found = std::ranges::find(masks_, mask);
        own.group = static_cast<int>(found - masks_.begin());
        if (found == masks_.end()) {
            masks_.push_back(mask);
        }
        const auto first = static_cast<int>(thread.first) - 1;
        own.cpu = first >= 0 && has(mask, first) ? first : std::countr_zero(mask);
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

std::vector<Outcome> Machine::run() {
    for (std::size_t i = 0; i < threads_.size(); i++) {
        follow(static_cast<int>(i));
    }
    if (program_.limits.period > 0 && program_.limits.begin >= 0) {
        periodic_ = true;
        set_timer(kPeriod, program_.limits.begin, false);
        for (Cpu& cpu : cpus_) {
            cpu.rest = program_.limits.runtime;
        }
    }
    settle();
    for (;;) {
        refresh();
        Time then = timers_.empty() ? kNever : timers_.front().at;
        for (const Time next : next_) {
            then = std::min(then, next);
        }
        if (then >= horizon_) {
            break;
        }
        now_ = then;
        // What computes ends, then timers, then who is most urgent goes on.
        for (std::size_t c = 0; c < cpus_.size(); c++) {
            if (next_[c] <= now_) {
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

// When it wakes: whether its budget and deadline can be kept (the kernel's update_dl_entity).
void Machine::begin_server(int i) {
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

void Machine::exhaust(int i) {
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

void Machine::replenish(int i) {
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

// Ready, after a sleep or a wait.
void Machine::wake(int i) {
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
void Machine::follow(int i) {
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
Time Machine::release_of(int i) {
    const std::int64_t job = of(i).job;
    Time& release = outcomes_[at(job)].release;
    const Time said = program_.releases[at(job)];
    if (release < 0 && said >= 0) {
        const bool first = job == (i == 0 ? 0 : program_.job_ends[at(i) - 1]);
        release = given(i).how == 1 && !first ? now_ + said : said;
    }
    return release;
}

// Until it computes, waits, or changed what others do. It runs, and nothing is left.
void Machine::step(int i) {
    stirred_ = false;
    do {
        execute(i);
    } while (runs(i) && of(i).left == 0 && !of(i).spinning && !stirred_);
}

void Machine::execute(int i) {
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
void Machine::release(int i) {
    Active& own = of(i);
    const std::size_t next = own.external + own.woken;
    const std::size_t end = at(i) + 1 < threads_.size() ? of(i + 1).external : externals_.size();
    if (next >= end) {
        return;
    }
    own.woken++;
    outcomes_[at(externals_[next])].release = now_;
    if (own.state == State::idle && own.job == externals_[next]) {
        follow(i);
    }
}

void Machine::lock(int i, int which) {
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
void Machine::take(int i, int which) {
    Active& own = of(i);
    locks_[at(which)].owner = i;
    own.op++;
    own.retry = false;
    own.asking = kNone;
    if (protocol(which) != kProtect) {
        own.held.push_back(which);
    }
}

void Machine::unlock(int i, int which) {
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
void Machine::stop_spinning(int which) {
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

void Machine::resume(int i) {
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

void Machine::fill_releases() {
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

std::vector<Outcome> run(std::int64_t cpus, const Program& program, Time horizon) {
    return Machine(cpus, program, horizon).run();
}

}  // namespace deadbeat::sched::program
