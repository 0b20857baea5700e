// Global scheduling in lanes, verdict only.
//
// The m slots hold the jobs that run, in no order; the others wait, sorted by key. A job in a slot
// carries the instant at which it will finish, so that time passes without touching it; a waiting
// one what it has left. A completion matters only where a job waits: otherwise the slot just counts
// as free from then on. A job certainly misses as soon as it enters a slot that it would leave too
// late, since a preemption can only delay it; the first miss is the earliest deadline of such jobs.
// That finds every miss: while a job waits, the slots hold jobs with deadlines no later than its
// own, so that it enters a slot at its deadline at the latest or one of those misses. With fixed
// keys that does not hold: there the deadlines of the waiting ones are instants to look at, too.
#pragma once

#include "lanes.hpp"
#include "simd.hpp"

namespace deadbeat::sched::fast::DEADBEAT_LANES {

// M slots, held in registers; 0: as many as the group says, in memory.
template <class S, int M, bool Fixed>
struct VerdictKernel {
    using I = typename S::Int;
    using Vec = typename S::Vec;
    using Mask = typename S::Mask;
    static constexpr int L = S::lanes;
    static constexpr int kHeld = M == 0 ? 1 : M;

    Group<I>& group;
    Vec key[kHeld], finish[kHeld], due[Fixed ? kHeld : 1];
    Vec low, stop, earliest;
    Vec behind_due;  // the earliest deadline of those that wait but the first, kNone: none

    int slots() const { return M == 0 ? group.slots : M; }
    Vec key_of(int s) const { return M == 0 ? S::load(group.key + s * L) : key[s]; }
    Vec finish_of(int s) const { return M == 0 ? S::load(group.finish + s * L) : finish[s]; }
    void set_key(int s, Vec value) {
        if constexpr (M == 0) {
            S::store(group.key + s * L, value);
        } else {
            key[s] = value;
        }
    }
    Vec due_of(int s) const { return M == 0 ? S::load(group.due + s * L) : due[s]; }
    void set_due(int s, Vec value) {
        if constexpr (M == 0) {
            S::store(group.due + s * L, value);
        } else {
            due[s] = value;
        }
    }
    void set_finish(int s, Vec value) {
        if constexpr (M == 0) {
            S::store(group.finish + s * L, value);
        } else {
            finish[s] = value;
        }
    }

    void load() {
        low = S::load(group.low);
        stop = S::load(group.stop);
        earliest = S::all(kNone<I>);
        for (int s = 0; s < slots(); s++) {
            if constexpr (M != 0) {
                key[s] = S::load(group.key + s * L);
                finish[s] = S::load(group.finish + s * L);
                if constexpr (Fixed) {
                    due[s] = S::load(group.due + s * L);
                }
            }
            earliest = S::min(earliest, finish_of(s));
        }
        behind_due = S::all(kNone<I>);
        if constexpr (Fixed) {
            for (int j = 1; j < group.waiting; j++) {
                behind_due = S::min(behind_due, S::load(group.wait_due + j * L));
            }
        }
    }

    void store() const {
        S::store(group.stop, stop);
        if constexpr (M != 0) {
            for (int s = 0; s < M; s++) {
                S::store(group.key + s * L, key[s]);
                S::store(group.finish + s * L, finish[s]);
                if constexpr (Fixed) {
                    S::store(group.due + s * L, due[s]);
                }
            }
        }
    }

    // At most one completion followed by at most one release, in every lane; which lanes are done.
    Mask step() {
        const Vec none = S::all(kNone<I>);
        const Vec no_job = S::all(kNoJob<I>);
        const Vec next = S::load(group.release);
        const Vec first = S::load(group.wait_key);
        const Vec second = S::load(group.wait_key + L);
        // A job finishes for which another waits: that one takes the slot.
        const Vec first_due = Fixed ? S::load(group.wait_due) : S::without(first, low);
        const Vec end = Fixed ? S::min(stop, S::min(first_due, behind_due)) : stop;
        const Vec until = S::min(next, end) | low;
        const Mask taken = S::both(S::less(first, no_job), S::at_most(earliest, until));
        const Vec taken_finish = S::add(earliest, S::load(group.wait_rest));
        const Vec next_low = next | low;
        Vec victim = S::all(static_cast<I>(-1));
        Vec soonest = none;
        for (int s = 0; s < slots(); s++) {
            const Mask here = S::both(taken, S::equal(finish_of(s), earliest));
            const Vec f = S::choose(here, taken_finish, finish_of(s));
            const Vec k = S::choose(here, first, key_of(s));
            const Vec free = S::all(static_cast<I>(kNone<I> - s));
            const Vec seen = S::choose(S::at_most(f, next_low), free, k);
            set_finish(s, f);
            set_key(s, seen);
            if constexpr (Fixed) {
                set_due(s, S::choose(here, first_due, due_of(s)));
            }
            soonest = S::min(soonest, f);
            victim = S::max(victim, seen);
        }
        const Mask late = S::both(taken, S::less(first_due, S::without(taken_finish, low)));
        stop = S::choose(late, S::min(stop, first_due), stop);
        // Unless another one waits for a completion before it, the next job is released.
        const Vec head = S::choose(taken, second, first);
        Vec last = stop;
        if constexpr (Fixed) {
            last = S::min(last, S::min(S::choose(taken, none, first_due), behind_due));
        }
        const Mask more =
            S::both(S::less(head, no_job), S::at_most(soonest, S::min(next, last) | low));
        const Mask in_time = S::less(next, S::without(last, low));
        const Mask go = S::first_only(in_time, more);
        release(next, go, victim, taken);
        const Mask done = S::neither(in_time, more);
        if constexpr (Fixed) {
            stop = S::choose(done, last, stop);
        }
        return done;
    }

    void release(Vec next, Mask go, Vec victim, Mask taken) {
        const Vec task = next & low;
        const Vec now = S::without(next, low);
        const Vec period = S::gather(group.period, task);
        const Vec wcet = S::gather(group.wcet, task);
        const Vec deadline =
            S::add(next, group.implicit ? period : S::gather(group.relative, task));
        Vec k = deadline;
        if constexpr (Fixed) {
            const Vec fixed = S::gather(group.fixed, task);
            k = S::choose(S::less(fixed, S::all(kNoJob<I>)), fixed, k);
        }
        const Vec f = S::add(now, wcet);
        const Mask enters = S::both(go, S::less(k, victim));
        Vec victim_finish = S::all(0);
        Vec victim_due = S::all(kNone<I>);
        earliest = S::all(kNone<I>);
        for (int s = 0; s < slots(); s++) {
            const Mask here = S::both(enters, S::equal(key_of(s), victim));
            const Vec old = finish_of(s);
            victim_finish = S::choose(here, old, victim_finish);
            const Vec fresh = S::choose(here, S::add(f, S::all(static_cast<I>(s))), old);
            set_finish(s, fresh);
            set_key(s, S::choose(here, k, key_of(s)));
            earliest = S::min(earliest, fresh);
            if constexpr (Fixed) {
                victim_due = S::choose(here, due_of(s), victim_due);
                set_due(s, S::choose(here, S::without(deadline, low), due_of(s)));
            }
        }
        const Mask late = S::both(enters, S::less(deadline, f));
        stop = S::choose(late, S::min(stop, S::without(deadline, low)), stop);
        const Vec rest = S::sub(S::without(victim_finish, low), now);
        const Vec loser = S::choose(go, S::max(k, victim), S::all(kNone<I>));
        const Vec loser_due = S::choose(enters, victim_due, S::without(deadline, low));
        wait(taken, loser, S::choose(enters, rest, wcet),
             S::choose(S::less(loser, S::all(kNoJob<I>)), loser_due, S::all(kNone<I>)));
        reschedule(S::choose(go, S::add(next, period), next));
    }

    // Removes the first that waits where `taken`, inserts (k, rest, due); k = kNone: nothing.
    void wait(Mask taken, Vec k, Vec rest, Vec due_in) {
        I* keys = group.wait_key;
        I* rests = group.wait_rest;
        I* dues = group.wait_due;
        const int count = group.waiting;
        Vec here_key = S::load(keys);
        Vec here_rest = S::load(rests);
        Vec least = S::all(kNone<I>);
        for (int j = 0; j < count; j++) {
            const Vec next_key = S::load(keys + (j + 1) * L);
            const Vec next_rest = S::load(rests + (j + 1) * L);
            const Vec old_key = S::choose(taken, next_key, here_key);
            const Vec old_rest = S::choose(taken, next_rest, here_rest);
            const Mask before = S::less(k, old_key);
            S::store(keys + j * L, S::min(k, old_key));
            S::store(rests + j * L, S::choose(before, rest, old_rest));
            k = S::max(k, old_key);
            rest = S::choose(before, old_rest, rest);
            here_key = next_key;
            here_rest = next_rest;
            if constexpr (Fixed) {
                const Vec old_due =
                    S::choose(taken, S::load(dues + (j + 1) * L), S::load(dues + j * L));
                const Vec fresh = S::choose(before, due_in, old_due);
                S::store(dues + j * L, fresh);
                due_in = S::choose(before, old_due, due_in);
                least = j == 0 ? least : S::min(least, fresh);
            }
        }
        const Vec no_job = S::all(kNoJob<I>);
        if (S::any(S::less(k, no_job))) {
            S::store(keys + count * L, k);
            S::store(rests + count * L, rest);
            if constexpr (Fixed) {
                S::store(dues + count * L, due_in);
                least = count == 0 ? least : S::min(least, due_in);
            }
            group.waiting = count + 1;
        } else if (count > 0 && !S::any(S::less(S::load(keys + (count - 1) * L), no_job))) {
            group.waiting = count - 1;
        }
        behind_due = least;
    }

    // Replaces the head of the release queue by `k`, which is not smaller, and sorts it in.
    void reschedule(Vec k) {
        I* const rows = group.release;
        for (int i = 0; i + 1 < group.tasks; i++) {
            const Vec other = S::load(rows + (i + 1) * L);
            S::store(rows + i * L, S::min(k, other));
            k = S::max(k, other);
        }
        S::store(rows + (group.tasks - 1) * L, k);
    }

    static std::uint32_t run(Group<I>& group) {
        VerdictKernel kernel{group, {}, {}, {}, {}, {}, {}, {}};
        kernel.load();
        std::uint32_t done = 0;
        do {
            done = S::bits(kernel.step()) & group.active;
        } while (done == 0);
        kernel.store();
        return done;
    }
};

template <class S, bool Fixed>
Kernel<typename S::Int> verdict_kernel_of(int slots) {
    switch (slots) {
        case 1:
            return VerdictKernel<S, 1, Fixed>::run;
        case 2:
            return VerdictKernel<S, 2, Fixed>::run;
        case 3:
            return VerdictKernel<S, 3, Fixed>::run;
        case 4:
            return VerdictKernel<S, 4, Fixed>::run;
        case 6:
            return VerdictKernel<S, 6, Fixed>::run;
        case 8:
            return VerdictKernel<S, 8, Fixed>::run;
        default:
            return VerdictKernel<S, 0, Fixed>::run;
    }
}

template <class S>
Kernel<typename S::Int> verdict_kernel(int slots, Kind kind) {
    return kind == Kind::stop_fixed ? verdict_kernel_of<S, true>(slots)
                                    : verdict_kernel_of<S, false>(slots);
}

}  // namespace deadbeat::sched::fast::DEADBEAT_LANES
