/*
 * How near the cores of a run are to one another, at each boundary between slots: the host of a virtual
 * machine moves its CPUs every few seconds, and what contention costs goes with it. A thread on each core,
 * above all tasks, passes a word to and fro while the slot warms up; no counted job waits for it.
 */
#include "host_run.h"

#define PAIR_PRIORITY DB_PRIORITY_AGENT
_Static_assert(PAIR_PRIORITY > DB_PRIORITY_CEILING && PAIR_PRIORITY < DB_PRIORITY_GUARDIAN,
               "no task runs on either core of a pair meanwhile");

/* Pairs follow each other on core 0. Each has so long at most, and until then to meet: where both come in
 * time it takes 30 us (100 ns a trip) to 150 us (450 ns). */
#define PAIR_NS (250 * INT64_C(1000))
#define MEET_NS (200 * INT64_C(1000))

/* Those that are over before the first release that counts; after the last slot none does. */
static uint32_t pairs_at(const struct run *run, uint32_t boundary)
{
    if (boundary == run->slot_count)
        return run->pair_count;
    const struct slot *slot = &run->slots[boundary];
    int64_t fitting = (slot->start_ns - slot->begin_ns) / PAIR_NS;
    return fitting < run->pair_count ? (uint32_t)fitting : run->pair_count;
}

/* Core 0 asks one after the other, each of the others waits for its turn. */
static void take_part(const struct run *run, uint32_t core, uint32_t boundary)
{
    uint32_t count = pairs_at(run, boundary);
    int64_t at = *run->base_ns + boundary_ns(run, boundary);
    if (count == 0 || core > count)
        return;
    port_sleep_until_ns(at);
    for (uint32_t p = 0; core == 0 && p < count; p++)
        run->pairs[p].trip_ps[boundary] =
            ping_until(&run->pairs[p].ball, boundary, at + p * PAIR_NS + MEET_NS);
    if (core > 0)
        pong_until(&run->pairs[core - 1].ball, boundary, at + (core - 1) * PAIR_NS + MEET_NS);
}

static void *pairs_main(void *argument)
{
    const struct pair_thread *mine = argument;
    const struct run *run = mine->run;
    atomic_uint *signal = &run->meeting->signal;
    name_thread("pair", mine->core);
    if (run->options.policy == DB_POLICY_OTHER)
        port_minimal_timer_slack();
    while (atomic_load(signal) == SIGNAL_WAIT)
        port_wait(signal, SIGNAL_WAIT, -1);
    for (uint32_t s = 0; s <= run->slot_count && !has_failed(&run->meeting->failure); s++)
        take_part(run, mine->core, s);
    return NULL;
}

bool has_pairs(const struct run *run, uint32_t core)
{
    return run->pair_count > 0 && core <= run->pair_count;
}

bool pairs_start(struct pair_thread *thread, struct run *run, uint32_t core)
{
    const struct run_options *o = &run->options;
    *thread = (struct pair_thread){.run = run, .core = core};
    int error =
        port_start_thread(pairs_main, thread, o->policy, PAIR_PRIORITY, o->cpus[core], &thread->thread);
    if (error)
        fail_errno(&run->meeting->failure, "a thread for round trips could not be started", error);
    return error == 0;
}
