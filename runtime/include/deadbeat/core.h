/*
 * The core program: one task set in one address space, on the core port alone. `deadbeat export --as c`
 * writes the tables and the options; a port calls db_core_main() once its threads run.
 */
#ifndef DEADBEAT_CORE_H
#define DEADBEAT_CORE_H

#include "deadbeat/port_core.h"

/* How a set is measured: what the fields of a campaign mean, docs/reference. */
struct db_core_options {
    enum db_policy policy;
    int64_t seconds_ns;    /* length of the timetable; the runtime rounds it to whole rounds */
    uint32_t jobs;         /* of each task at least, counted and together, however long that takes */
    uint32_t slot_periods; /* length of a slot in periods of its slowest task; 0: by the rule */
    uint32_t warmup;       /* periods at the start of a slot that are not counted */
    bool solo;             /* tasks also run alone */
    bool late;             /* overrun policy late instead of skip */
    uint64_t seed;         /* of the order of the slots */
    uint32_t period_ppm;   /* periods, deadlines and offsets are multiplied by so many millionths */
};

/* As the campaign asked; written by `deadbeat export --as c`. */
extern const struct db_core_options db_core_defaults;

/* Runs the task set of this number (tables.h) and hands its record file to port_put(); what goes wrong goes
 * to port_say(). options NULL: db_core_defaults. Before: threads can be started; the caller has a stack of 8
 * KiB and may have any priority: the coordinator and the tasks are threads of their own, on the first of
 * port_usable_cpus(). After: all of them have ended. Returns 0, or 1 after saying why. */
int db_core_main(uint32_t set, const struct db_core_options *options);

#endif
