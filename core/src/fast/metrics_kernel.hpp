// Global scheduling in lanes with preemptions, migrations and slack.
//
// Slots and waiting jobs are as in verdict_kernel.hpp, but every completion counts, and a job in a
// slot also gets a processor: when time is about to pass, those without one are placed as the
// general engine does it (place_tier in engine.cpp): in the order of their keys those whose last
// processor is free, then the others on the lowest free one. Fixed keys leave the deadlines to
// arrays of their own.
#pragma once

#include "lanes.hpp"
#include "simd.hpp"

namespace deadbeat::sched::fast::DEADBEAT_LANES {

// M slots, held in registers; 0: as many as the group says, in memory.
template <class S, int M, bool Fixed, bool RunOn>
struct MetricsKernel {
    using I = typename S::Int;
    using Vec = typename S::Vec;
    using Mask = typename S::Mask;
    static constexpr int L = S::lanes;
    static constexpr int kHeld = M == 0 ? 1 : M;

    enum Field : int { kKey, kFinish, kPlace, kHome, kDue };
    static constexpr int kFields = Fixed ? 5 : 4;

    Group<I>& group;
    Vec held[kFields][kHeld];
    Vec low, stop, now, free, missed;
    Vec to_place;    // jobs in slots without a processor
    Vec behind_due;  // the earliest deadline of those that wait but the first, kNone: none

    int slots() const { return M == 0 ? group.slots : M; }
    I* row(Field field, int s) const {
        I* const rows[] = {group.key, group.finish, group.place, group.home, group.due};
        return rows[field] + s * L;
    }
    Vec get(Field field, int s) const {
        return M == 0 ? S::load(row(field, s)) : held[field][M == 0 ? 0 : s];
    }
    void set(Field field, int s, Vec value) {
        if constexpr (M == 0) {
            S::store(row(field, s), value);
        } else {
            held[field][s] = value;
        }
    }
    void set_where(Field field, int s, Mask mask, Vec value) {
        set(field, s, S::choose(mask, value, get(field, s)));
    }

    static Vec none() { return S::all(kNone<I>); }
    static Mask is_job(Vec key) { return S::less(key, S::all(kNoJob<I>)); }
    Vec task_of(Vec key) const { return S::half(key & low); }
    Vec time_of(Vec packed) const { return S::without(packed, low); }

    void load() {
        low = S::load(group.low);
        stop = S::load(group.stop);
        now = S::load(group.now);
        free = S::load(group.free);
        missed = S::load(group.missed);
        behind_due = none();
        if constexpr (Fixed) {
            for (int j = 1; j < group.waiting; j++) {
                behind_due = S::min(behind_due, S::load(group.wait_due + j * L));
            }
        }
        if constexpr (M != 0) {
            for (int field = 0; field < kFields; field++) {
                for (int s = 0; s < M; s++) {
                    held[field][s] = S::load(row(static_cast<Field>(field), s));
                }
            }
        }
        to_place = S::all(0);
        for (int s = 0; s < slots(); s++) {
            add_where(to_place, S::both(is_job(get(kKey, s)), S::zero(get(kPlace, s))), 1);
        }
    }

    void store() const {
        S::store(group.stop, stop);
        S::store(group.now, now);
        S::store(group.free, free);
        S::store(group.missed, missed);
        if constexpr (M != 0) {
            for (int field = 0; field < kFields; field++) {
                for (int s = 0; s < M; s++) {
                    S::store(row(static_cast<Field>(field), s), held[field][s]);
                }
            }
        }
    }

    static void add_where(Vec& to, Mask mask, I amount) {
        to = S::choose(mask, S::add(to, S::all(amount)), to);
    }
    // Of many slots, in memory: the one of each lane that changes is known by its number.
    Vec pick(Field field, Vec slot) const { return S::gather(row(field, 0), slot); }
    void put(Field field, Vec slot, Mask mask, Vec value) {
        S::scatter(row(field, 0), slot, value, mask);
    }
    static void count(I* row, Mask mask) {
        S::store(row, S::choose(mask, S::add(S::load(row), S::all(1)), S::load(row)));
    }
    void miss(Mask late, Vec due) {
        missed = S::choose(late, S::min(missed, due), missed);
        if constexpr (!RunOn) {
            stop = S::choose(late, S::min(stop, due), stop);
        }
    }
    // The instant at which the lane stops; with fixed keys a job that waits may miss before.
    Vec stop_time() const {
        const Vec set = time_of(stop);
        return Fixed && !RunOn ? S::min(set, S::min(behind_due, S::load(group.wait_due))) : set;
    }

    // At most one placement, completion and release in every lane; which lanes are done.
    Mask step() {
        Vec next = S::load(group.release);
        Vec earliest = none();
        Vec unplaced = none();
        Vec returning = none();
        Vec unplaced_slot = S::all(0);
        Vec returning_slot = S::all(0);
        for (int s = 0; s < slots(); s++) {
            earliest = S::min(earliest, get(kFinish, s));
            const Vec k = S::choose(S::zero(get(kPlace, s)), get(kKey, s), none());
            const Vec back = S::choose(S::common(get(kHome, s), free), k, none());
            if constexpr (M == 0) {
                const Vec slot = S::all(static_cast<I>(s));
                unplaced_slot = S::choose(S::less(k, unplaced), slot, unplaced_slot);
                returning_slot = S::choose(S::less(back, returning), slot, returning_slot);
            }
            unplaced = S::min(unplaced, k);
            returning = S::min(returning, back);
        }
        const Vec event = S::min(time_of(S::min(earliest, next)), stop_time());
        const Mask passes = S::less(now, event);
        const Mask returns = is_job(returning);
        place(S::choose(returns, returning, unplaced),
              S::choose(returns, returning_slot, unplaced_slot), returns,
              S::both(passes, is_job(unplaced)));
        const Mask held_up = S::both(S::less(S::all(0), to_place), passes);
        // One completion. Those of an instant come before its releases.
        const Mask completes = S::first_only(
            S::at_most(time_of(earliest), S::min(S::max(time_of(next), now), stop_time())),
            held_up);
        const Mask taken = S::both(completes, is_job(S::load(group.wait_key)));
        complete(earliest, completes, taken);
        if constexpr (RunOn) {
            next = S::load(group.release);
        }
        // One release, unless a completion or a placement comes before it.
        Vec victim = S::all(static_cast<I>(-1));
        Vec soonest = none();
        Vec victim_slot = S::all(0);
        for (int s = 0; s < slots(); s++) {
            const Vec k = get(kKey, s);
            soonest = S::min(soonest, get(kFinish, s));
            if constexpr (M == 0) {
                victim_slot = S::choose(S::less(victim, k), S::all(static_cast<I>(s)), victim_slot);
            }
            victim = S::max(victim, k);
        }
        Vec end = time_of(stop);
        if constexpr (Fixed && !RunOn) {
            const Vec first_due = S::choose(taken, none(), S::load(group.wait_due));
            end = S::min(end, S::min(first_due, behind_due));
        }
        const Vec released = S::max(time_of(next), now);
        const Mask more = S::at_most(time_of(soonest), S::min(released, end));
        const Mask in_time = S::less(released, end);
        const Mask unplaced_left = S::less(S::all(0), to_place);
        const Mask waits = S::either(more, S::both(unplaced_left, S::less(now, released)));
        const Mask go = S::first_only(S::first_only(in_time, waits), held_up);
        release(next, released, go, victim, victim_slot, taken);
        const Mask ends = S::first_only(S::opposite(in_time), S::either(more, held_up));
        return S::first_only(ends, S::both(unplaced_left, S::less(now, end)));
    }

    // Places the job `chosen`, in its slot: where it ran last (`returns`), else on the lowest
    // processor that is free.
    void place(Vec chosen, Vec slot, Mask returns, Mask placing) {
        const Vec lowest = S::lowest_bit(free);
        Vec to = S::all(0);
        Vec from = S::all(0);
        if constexpr (M == 0) {
            from = S::choose(placing, pick(kHome, slot), from);
            to = S::choose(placing, S::choose(returns, from, lowest), to);
            put(kPlace, slot, placing, to);
            put(kKey, slot, placing, chosen | S::all(1));
        } else {
            for (int s = 0; s < slots(); s++) {
                const Mask here = S::both(placing, S::equal(get(kKey, s), chosen));
                const Vec home = get(kHome, s);
                const Vec processor = S::choose(returns, home, lowest);
                set_where(kPlace, s, here, processor);
                set_where(kKey, s, here, chosen | S::all(1));
                to = S::choose(here, processor, to);
                from = S::choose(here, home, from);
            }
        }
        add_where(to_place, placing, -1);
        free = S::without(free, to);
        const Mask moved = S::first_only(S::first_only(placing, S::zero(from)), S::equal(from, to));
        const Mask ran = S::common(chosen, S::all(1));
        count(group.migrations, S::both(moved, ran));
        count(group.task_migrations, S::first_only(moved, ran));
        S::scatter(group.last, task_of(chosen), to, placing);
    }

    void complete(Vec earliest, Mask completes, Mask taken) {
        const Vec at = time_of(earliest);
        now = S::choose(completes, at, now);
        const Vec first = S::load(group.wait_key);
        const Vec first_due = Fixed ? S::load(group.wait_due) : time_of(first);
        const Vec first_home = S::gather(group.last, S::choose(taken, task_of(first), S::all(0)));
        const Vec first_finish = S::add(earliest, S::load(group.wait_rest));
        Vec key = S::all(0);
        Vec due = S::all(0);
        if constexpr (M == 0) {
            const Vec slot = S::choose(completes, earliest & low, S::all(0));
            key = S::choose(completes, pick(kKey, slot), key);
            free = S::choose(completes, free | pick(kPlace, slot), free);
            const Vec idle = S::sub(none(), slot);
            put(kKey, slot, completes, S::choose(taken, first, idle));
            put(kFinish, slot, completes, S::choose(taken, first_finish, none()));
            put(kPlace, slot, completes, S::all(0));
            put(kHome, slot, completes, S::choose(taken, first_home, S::all(0)));
            if constexpr (Fixed) {
                due = S::choose(completes, pick(kDue, slot), due);
                put(kDue, slot, completes, S::choose(taken, first_due, none()));
            }
        } else {
            for (int s = 0; s < slots(); s++) {
                const Mask here = S::both(completes, S::equal(get(kFinish, s), earliest));
                key = S::choose(here, get(kKey, s), key);
                free = S::choose(here, free | get(kPlace, s), free);
                const Vec idle = S::all(static_cast<I>(kNone<I> - s));
                set_where(kKey, s, here, S::choose(taken, first, idle));
                set_where(kFinish, s, here, S::choose(taken, first_finish, none()));
                set_where(kPlace, s, here, S::all(0));
                set_where(kHome, s, here, S::choose(taken, first_home, S::all(0)));
                if constexpr (Fixed) {
                    due = S::choose(here, get(kDue, s), due);
                    set_where(kDue, s, here, S::choose(taken, first_due, none()));
                }
            }
        }
        add_where(to_place, taken, 1);
        miss(S::both(taken, S::less(first_due, time_of(first_finish))), first_due);
        record(completes, key, Fixed ? due : time_of(key), at);
    }

    void record(Mask completes, Vec key, Vec due, Vec at) {
        const Vec task = task_of(key);
        const Vec slack = S::sub(due, at);
        const Vec relative = S::gather(group.relative, task);
        S::scatter(group.slack, task, S::add(S::gather(group.slack, task), slack), completes);
        const Vec least = S::load(group.slack_min);
        S::store(group.slack_min, S::choose(completes, S::min(least, slack), least));
        const Vec longest = S::load(group.response_max);
        S::store(group.response_max,
                 S::choose(completes, S::max(longest, S::sub(relative, slack)), longest));
        if constexpr (RunOn) {
            const Mask late = S::both(completes, S::less(due, at));
            count(group.late, late);
            const Vec by = S::load(group.tardiness);
            S::store(group.tardiness, S::choose(late, S::sub(by, slack), by));
            const Mask more = S::both(completes, S::equal(S::gather(group.state, task), S::all(2)));
            S::scatter(group.state, task, S::all(0), completes);
            if (S::any(more)) {
                // The release that found the task busy comes now, as of its own instant.
                const Vec period = S::gather(group.period, task);
                const Vec release = S::add(S::sub(due, relative), period);
                unpark(S::bits(more), release | S::without(key & low, S::all(1)));
            }
        }
    }

    // Sorts releases into the queues of `which` lanes.
    void unpark(std::uint32_t which, Vec releases) {
        alignas(64) I keys[L];
        S::store(keys, releases);
        for (int lane = 0; lane < L; lane++) {
            if ((which >> lane & 1) == 0) {
                continue;
            }
            int i = group.tasks - 1;
            for (; i > 0 && group.release[(i - 1) * L + lane] > keys[lane]; i--) {
                group.release[i * L + lane] = group.release[(i - 1) * L + lane];
            }
            group.release[i * L + lane] = keys[lane];
        }
    }

    void release(Vec next, Vec released, Mask go, Vec victim, Vec slot, Mask taken) {
        now = S::choose(go, released, now);
        const Vec task = S::choose(go, task_of(next), S::all(0));
        const Vec period = S::gather(group.period, task);
        const Vec wcet = S::gather(group.wcet, task);
        const Vec deadline = S::add(next, S::gather(group.relative, task));
        Vec k = deadline;
        if constexpr (Fixed) {
            const Vec fixed = S::gather(group.fixed, task);
            k = S::choose(is_job(fixed), fixed, k);
        }
        Vec again = S::add(next, period);
        Mask starts = go;
        if constexpr (RunOn) {
            const Mask busy = S::both(go, S::equal(S::gather(group.state, task), S::all(1)));
            starts = S::first_only(go, busy);
            S::scatter(group.state, task, S::choose(busy, S::all(2), S::all(1)), go);
            again = S::choose(busy, none(), again);
        }
        const Vec f = S::add(released, wcet);
        const Vec home = S::gather(group.last, task);
        const Mask enters = S::both(starts, S::less(k, victim));
        Vec old_finish = S::all(0);
        Vec old_place = S::all(0);
        Vec old_due = time_of(victim);
        if constexpr (M == 0) {
            old_finish = S::choose(enters, pick(kFinish, slot), old_finish);
            old_place = S::choose(enters, pick(kPlace, slot), old_place);
            put(kKey, slot, enters, k);
            put(kFinish, slot, enters, S::add(f, slot));
            put(kPlace, slot, enters, S::all(0));
            put(kHome, slot, enters, home);
            if constexpr (Fixed) {
                old_due = S::choose(enters, pick(kDue, slot), old_due);
                put(kDue, slot, enters, time_of(deadline));
            }
        } else {
            for (int s = 0; s < slots(); s++) {
                const Mask here = S::both(enters, S::equal(get(kKey, s), victim));
                old_finish = S::choose(here, get(kFinish, s), old_finish);
                old_place = S::choose(here, get(kPlace, s), old_place);
                set_where(kKey, s, here, k);
                set_where(kFinish, s, here, S::add(f, S::all(static_cast<I>(s))));
                set_where(kPlace, s, here, S::all(0));
                set_where(kHome, s, here, home);
                if constexpr (Fixed) {
                    old_due = S::choose(here, get(kDue, s), old_due);
                    set_where(kDue, s, here, time_of(deadline));
                }
            }
        }
        miss(S::both(enters, S::less(time_of(deadline), f)), time_of(deadline));
        free = free | old_place;
        count(group.preemptions, S::first_only(enters, S::zero(old_place)));
        const Mask preempts = S::both(enters, is_job(victim));
        add_where(to_place, enters, 1);
        add_where(to_place, S::both(preempts, S::zero(old_place)), -1);
        const Mask any = S::either(preempts, S::first_only(starts, enters));
        const Vec rest = S::sub(time_of(S::choose(preempts, old_finish, now)), now);
        wait(taken, S::choose(any, S::max(k, victim), none()), S::choose(enters, rest, wcet),
             S::choose(any, S::choose(enters, old_due, time_of(deadline)), none()));
        reschedule(S::choose(go, again, next));
    }

    // Removes the first that waits where `taken`, inserts (k, rest, due); k = kNone: nothing.
    void wait(Mask taken, Vec k, Vec rest, Vec due) {
        I* keys = group.wait_key;
        I* rests = group.wait_rest;
        I* dues = group.wait_due;
        const int rows = group.waiting;
        Vec least = none();
        for (int j = 0; j < rows; j++) {
            const Vec old_key =
                S::choose(taken, S::load(keys + (j + 1) * L), S::load(keys + j * L));
            const Vec old_rest =
                S::choose(taken, S::load(rests + (j + 1) * L), S::load(rests + j * L));
            const Mask before = S::less(k, old_key);
            S::store(keys + j * L, S::min(k, old_key));
            S::store(rests + j * L, S::choose(before, rest, old_rest));
            k = S::max(k, old_key);
            rest = S::choose(before, old_rest, rest);
            if constexpr (Fixed) {
                const Vec old_due =
                    S::choose(taken, S::load(dues + (j + 1) * L), S::load(dues + j * L));
                const Vec fresh = S::choose(before, due, old_due);
                S::store(dues + j * L, fresh);
                due = S::choose(before, old_due, due);
                least = j == 0 ? least : S::min(least, fresh);
            }
        }
        if (S::any(is_job(k))) {
            S::store(keys + rows * L, k);
            S::store(rests + rows * L, rest);
            if constexpr (Fixed) {
                S::store(dues + rows * L, due);
                least = rows == 0 ? least : S::min(least, due);
            }
            group.waiting = rows + 1;
        } else if (rows > 0 && !S::any(is_job(S::load(keys + (rows - 1) * L)))) {
            group.waiting = rows - 1;
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
        MetricsKernel kernel{group, {}, {}, {}, {}, {}, {}, {}, {}};
        kernel.load();
        std::uint32_t done = 0;
        do {
            done = S::bits(kernel.step()) & group.active;
        } while (done == 0);
        kernel.store();
        return done;
    }
};

template <class S, bool Fixed, bool RunOn>
Kernel<typename S::Int> metrics_kernel_of(int slots) {
    switch (slots) {
        case 1:
            return MetricsKernel<S, 1, Fixed, RunOn>::run;
        case 2:
            return MetricsKernel<S, 2, Fixed, RunOn>::run;
        case 3:
            return MetricsKernel<S, 3, Fixed, RunOn>::run;
        case 4:
            return MetricsKernel<S, 4, Fixed, RunOn>::run;
        case 8:
            return MetricsKernel<S, 8, Fixed, RunOn>::run;
        default:
            return MetricsKernel<S, 0, Fixed, RunOn>::run;
    }
}

template <class S>
Kernel<typename S::Int> metrics_kernel(int slots, Kind kind) {
    if constexpr (sizeof(typename S::Int) == 8) {
        if (kind == Kind::run_on) {
            return metrics_kernel_of<S, false, true>(slots);
        }
        if (kind == Kind::run_on_fixed) {
            return metrics_kernel_of<S, true, true>(slots);
        }
    }
    return kind == Kind::stop_fixed ? metrics_kernel_of<S, true, false>(slots)
                                    : metrics_kernel_of<S, false, false>(slots);
}

}  // namespace deadbeat::sched::fast::DEADBEAT_LANES
