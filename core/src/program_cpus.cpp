// Which thread has which CPU, and until when.
#include <utility>

#include "program_machine.hpp"

namespace deadbeat::sched::program {

void Machine::settle() {
    for (;;) {
        if (changed_) {
            dispatch();
        }
        refresh();
        const auto found = std::ranges::find_if(next_, [&](Time next) { return next <= now_; });
        if (found == next_.end()) {
            return;
        }
        advance(at(found - next_.begin()));
    }
}

// Before what a CPU executes changes.
void Machine::touch(std::size_t c) {
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
            cpu.fair -= ran;
        }
        return;
    }
    Active& own = of(cpu.current);
    own.left -= own.spinning ? 0 : ran;
    own.slice -= rotates(cpu.current) ? ran : 0;
    own.budget -= spends(cpu.current) ? ran : 0;
    cpu.rest -= limited(cpu.current) ? ran : 0;
}

void Machine::refresh() {
    for (; dirty_ != 0; dirty_ &= dirty_ - 1) {
        const std::size_t c = first(dirty_);
        Cpu& cpu = cpus_[c];
        Time ahead = kNever - now_;
        if (cpu.current != kNone) {
            const Active& own = of(cpu.current);
            ahead = own.spinning ? ahead : own.left;
            ahead = spends(cpu.current) ? std::min(ahead, own.budget) : ahead;
            ahead = rotates(cpu.current) ? std::min(ahead, own.slice) : ahead;
            ahead = throttles(cpu.current) ? std::min(ahead, cpu.rest) : ahead;
        } else if (const int i = top(cpu.ends); i != kNone) {
            const Wide rest = (of(i).finish - cpu.now) * cpu.weight - kSlack;
            const Wide one = Wide{1} << kScaleBits;
            const Wide ns = rest <= 0 ? 0 : (rest + one - 1) >> kScaleBits;
            ahead = static_cast<Time>(std::min<Wide>(ahead, ns));
        }
        if (cpu.current == kNone && cpu.weight > 0 && cpu.fair_since >= 0) {
            ahead = std::min(ahead, cpu.fair);
        }
        next_[c] = now_ + ahead;
    }
}

void Machine::advance(std::size_t c) {
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
        if (cpu.current == kNone && cpu.fair_since >= 0 && cpu.fair <= 0) {
            renew_service(c);
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
    if (cpu.current == i && throttles(i) && cpu.rest <= 0) {
        stopped_ |= std::uint64_t{1} << c;
        give_way(c);
    }
}

// What runs there waits again, before its equals, as it may not run there.
void Machine::give_way(std::size_t c) {
    if (const int i = cpus_[c].current; i != kNone && has(closed(i), static_cast<int>(c))) {
        detach(i);
        attach(i);
    }
    changed_ = stirred_ = true;
}

void Machine::begin_period() {
    for (std::size_t c = 0; c < cpus_.size(); c++) {
        touch(c);
        Cpu& cpu = cpus_[c];
        cpu.rest = std::min(program_.limits.runtime, cpu.rest + program_.limits.runtime);
        if (cpu.rest > 0) {
            stopped_ &= ~(std::uint64_t{1} << c);
        }
    }
    changed_ = stirred_ = true;
    set_timer(kPeriod, now_ + program_.limits.period, false);
}

// Its ordinary threads are to have the budget before the period ends.
void Machine::await_server(std::size_t c) {
    Cpu& cpu = cpus_[c];
    cpu.fair = program_.limits.fair_runtime;
    cpu.fair_since = now_;
    set_timer(kServer - static_cast<int>(c), now_ + program_.limits.fair_period - cpu.fair, false);
}

void Machine::serve(std::size_t c) {
    touch(c);
    Cpu& cpu = cpus_[c];
    if (cpu.members.empty()) {
        cpu.fair_since = -1;
        return;
    }
    const Time due = cpu.fair_since + program_.limits.fair_period - cpu.fair;
    if (due > now_) {
        set_timer(kServer - static_cast<int>(c), due, false);
        return;
    }
    served_ |= std::uint64_t{1} << c;
    give_way(c);
}

// They had it: another period begins.
void Machine::renew_service(std::size_t c) {
    if (has(served_, static_cast<int>(c))) {
        end_service(c);
        await_server(c);
    } else {
        cpus_[c].fair = program_.limits.fair_runtime;
        cpus_[c].fair_since = now_;
    }
}

void Machine::end_service(std::size_t c) {
    served_ &= ~(std::uint64_t{1} << c);
    cpus_[c].fair_since = -1;
    changed_ = stirred_ = true;
}

int Machine::due(Cpu& cpu) {
    const int i = cpu.current == kNone ? top(cpu.ends) : kNone;
    return i != kNone && (of(i).finish - cpu.now) * cpu.weight <= kSlack ? i : kNone;
}

void Machine::fire() {
    const Timer timer = timers_.front();
    std::pop_heap(timers_.begin(), timers_.end());
    timers_.pop_back();
    if (timer.thread <= kServer) {
        serve(at(kServer - timer.thread));
    } else if (timer.thread == kPeriod) {
        begin_period();
    } else if (timer.replenishes) {
        replenish(timer.thread);
    } else {
        wake(timer.thread);
    }
}

void Machine::set_timer(int i, Time instant, bool replenishes) {
    timers_.push_back({instant, i, replenishes});
    std::push_heap(timers_.begin(), timers_.end());
}

// A ready thread by its urgency; who was on a CPU has left it.
void Machine::attach(int i) {
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

void Machine::detach(int i) {
    Active& own = of(i);
    own.ticket++;
    if (own.state == State::running) {
        touch(at(own.cpu));
        cpus_[at(own.cpu)].current = kNone;
        mark(at(own.cpu));
    } else if (own.state == State::pooled) {
        leave(i);
    }
    changed_ = true;
}

void Machine::join(int i, std::size_t c) {
    Active& own = of(i);
    Cpu& cpu = cpus_[c];
    touch(c);
    own.state = State::pooled;
    own.cpu = static_cast<int>(c);
    own.place = cpu.members.size();
    cpu.members.push_back(i);
    cpu.weight += weight(i);
    mark(c);
    sits_[c * masks_.size() + at(own.group)]++;
    if (program_.limits.fair_period > 0 && cpu.fair_since < 0) {
        await_server(c);
    }
    if (!own.spinning) {
        await(i);
    }
}

void Machine::await(int i) {
    Active& own = of(i);
    Cpu& cpu = cpus_[at(own.cpu)];
    own.finish = cpu.now + (Wide{own.left} << kScaleBits) / weight(i);
    cpu.ends.push({-own.finish, own.order, i, ++own.ticket});
}

void Machine::leave(int i) {
    Active& own = of(i);
    Cpu& cpu = cpus_[at(own.cpu)];
    touch(at(own.cpu));
    const Wide rest = (own.finish - cpu.now) * weight(i) + (Wide{1} << (kScaleBits - 1));
    own.left = own.spinning ? 0 : static_cast<Time>(std::max(rest, Wide{0}) >> kScaleBits);
    cpu.weight -= weight(i);
    cpu.members[own.place] = cpu.members.back();
    of(cpu.members[own.place]).place = own.place;
    cpu.members.pop_back();
    mark(at(own.cpu));
    sits_[at(own.cpu) * masks_.size() + at(own.group)]--;
    if (cpu.members.empty() && has(served_, own.cpu)) {
        end_service(at(own.cpu));
    }
}

void Machine::mark(std::size_t c) {
    const Cpu& cpu = cpus_[c];
    const std::uint64_t bit = std::uint64_t{1} << c;
    const bool real = cpu.current != kNone;
    const auto set = [bit](std::uint64_t& cpus, bool on) { cpus = on ? cpus | bit : cpus & ~bit; };
    set(real_, real);
    set(idle_, !real && cpu.members.empty());
    set(crowded_, cpu.members.size() > (real ? 0U : 1U));
}

void Machine::dispatch() {
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
        if (!periodic_ && program_.limits.period > 0 && limited(best)) {
            periodic_ = true;
            begin_period();
        }
        mark(c);
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

bool Machine::before(int a, int b) {
    return of(a).urgency != of(b).urgency ? of(a).urgency > of(b).urgency
                                          : of(a).order < of(b).order;
}

// Where it was if it is more urgent than what runs there and that can go elsewhere, or has a
// deadline and that has none; else the allowed CPU with the least urgent one. All CPUs there are:
// none.
std::size_t Machine::target(int i) {
    const Active& own = of(i);
    const Cpu& last = cpus_[at(own.cpu)];
    const std::int64_t there = urgency_of(last);
    const std::uint64_t shut = closed(i);
    const bool above = own.urgency > kMostFixed && there <= kMostFixed;
    if (!has(shut, own.cpu) && (there <= kFair || above ||
                                (there < own.urgency && std::popcount(mask(last.current)) > 1))) {
        return at(own.cpu);
    }
    const std::uint64_t mine = mask(i) & ~shut, calm = mine & ~real_;
    if (calm != 0) {
        return first((calm & idle_) != 0 ? calm & idle_ : calm);
    }
    std::size_t found = cpus_.size();
    std::int64_t least = own.urgency;
    for (std::uint64_t rest = mine; rest != 0; rest &= rest - 1) {
        if (urgency_of(cpus_[first(rest)]) < least) {
            found = first(rest);
            least = urgency_of(cpus_[found]);
        }
    }
    return found;
}

std::size_t Machine::lightest(int i) {
    const int last = of(i).cpu;
    const std::uint64_t calm = mask(i) & ~real_, some = calm != 0 ? calm : mask(i);
    if (has(some & idle_, last)) {
        return at(last);
    }
    std::size_t best = first(some);
    for (std::uint64_t rest = some; rest != 0; rest &= rest - 1) {
        const std::size_t c = first(rest);
        const std::int64_t here = cpus_[c].weight, least = cpus_[best].weight;
        if (here < least || (here == least && c == at(last))) {
            best = c;
        }
    }
    return best;
}

// A CPU with nothing takes an ordinary thread that waits: from where most weight is, the lowest.
// One alone waits behind real-time threads: find_busiest_group calls its CPU balanced (measured,
// 6.18: for 30 ms in most of 80 trials).
void Machine::pull() {
    for (std::uint64_t idle = idle_; idle != 0 && crowded_ != 0; idle &= idle - 1) {
        const std::size_t c = first(idle);
        std::size_t from = cpus_.size();
        for (std::uint64_t rest = crowded_; rest != 0; rest &= rest - 1) {
            const std::size_t k = first(rest);
            if (cpus_[k].members.size() > 1 && offers(k, c) &&
                (from == cpus_.size() || cpus_[k].weight > cpus_[from].weight)) {
                from = k;
            }
        }
        if (from == cpus_.size()) {
            continue;
        }
        int lowest = kNone;
        for (const int i : cpus_[from].members) {
            if (has(mask(i), static_cast<int>(c)) && (lowest == kNone || i < lowest)) {
                lowest = i;
            }
        }
        detach(lowest);
        join(lowest, c);
    }
}

bool Machine::offers(std::size_t from, std::size_t to) const {
    for (std::size_t g = 0; g < masks_.size(); g++) {
        if (sits_[from * masks_.size() + g] > 0 && (masks_[g] >> to & 1) != 0) {
            return true;
        }
    }
    return false;
}

// Behind its equals, if there are any that may run here.
void Machine::rotate(int i) {
    Active& own = of(i);
    touch(at(own.cpu));
    own.slice = kSlice;
    for (std::size_t g = 0; g < ready_.size(); g++) {
        if (has(masks_[g], own.cpu) && top(ready_[g]) != kNone &&
            of(top(ready_[g])).urgency == own.urgency) {
            detach(i);
            own.order = ++tail_;
            attach(i);
            return;
        }
    }
}

std::int64_t Machine::base(int i) const {
    const Active& own = threads_[at(i)];
    if (is_deadline(i)) {
        return own.throttled ? kThrottled : kLater - own.deadline;
    }
    return given(i).policy == kOrdinary ? kFair : given(i).priority;
}

std::int64_t Machine::effective(int i) {
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
void Machine::reconsider(int i) {
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
            if (has(closed(i), own.cpu)) {
                give_way(at(own.cpu));
            }
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

}  // namespace deadbeat::sched::program
