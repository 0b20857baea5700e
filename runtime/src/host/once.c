/*
 * One task set on its own, for a reader, or under perf:  perf stat ./batch-000.elf once --set 7
 * Guardian, bound, lock and placement are those of a measurement; there is no host behind it that
 * keeps a store, and no slot alone unless it is asked for (--solo 1).
 */
#include "host_run.h"

#include <stdio.h>

void once_defaults(struct options *o)
{
    o->solo = false;
    o->seconds_ns = 1000 * DB_MILLISECOND;
    o->lock_wait_ns = 10000 * DB_MILLISECOND;
    o->cpu_count = (uint32_t)port_usable_cpus(o->cpus, DB_MAX_CORES);
}

bool once_possible(const struct options *o)
{
    if (o->set_index < db_task_set_count)
        return true;
    fprintf(stderr, "no task set %u in this program: it has %u\n", o->set_index, db_task_set_count);
    return false;
}

int run_once(const struct options *options)
{
    char reason[DB_REASON_BYTES];
    uint64_t measured_ns = 0;
    bool ok = run_set(options->set_index, UNSCALED_PPM, options, NULL, reason, &measured_ns);
    guard_allow(-1);
    if (!ok)
        printf("task set %u failed: %s\n", options->set_index, reason);
    fflush(stdout);
    return ok ? 0 : 1;
}
