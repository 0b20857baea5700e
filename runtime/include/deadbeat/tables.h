/*
 * What a generated program consists of: const tables, no code. One C file holds a batch of task
 * sets; runtime and fragments are compiled once and linked whole, so fragment code sits at the same
 * address in every program.
 */
#ifndef DEADBEAT_TABLES_H
#define DEADBEAT_TABLES_H

#include "deadbeat/fragment.h"

#define DB_TABLES_VERSION 1
#define DB_NO_RESOURCE UINT16_MAX
#define DB_ALL_CORES UINT16_MAX

/* A fragment at a size, bound to a resource: one private context of one task. */
struct db_context_spec {
    const struct db_fragment *fragment;
    uint32_t size;
    uint16_t resource; /* index into the set's resources, or DB_NO_RESOURCE */
};

struct db_use {
    uint16_t context; /* index into the task's contexts */
    uint32_t repeats; /* >= 1 */
};

struct db_segment {
    uint8_t kind; /* enum db_kind */
    uint32_t first_use;
    uint32_t use_count;
    uint64_t budget_ps;
};

struct db_task {
    uint16_t core; /* logical core of the set, 0 .. cores-1 */
    uint16_t context_count;
    uint32_t segment_count;
    uint32_t use_count;
    int32_t priority; /* SCHED_FIFO priority, 60-79 */
    uint64_t wcet_ns;
    uint64_t period_ns;
    uint64_t deadline_ns;
    uint64_t offset_ns;
    uint64_t seed;
    const struct db_context_spec *contexts;
    const struct db_segment *segments;
    const struct db_use *uses;
};

/* A resource of a class (= SY fragment): contended by all cores, or local to one. */
struct db_resource_spec {
    const struct db_fragment *fragment;
    uint16_t core; /* DB_ALL_CORES: one object for the whole set (CON) */
};

struct db_task_set {
    const char *id; /* 64 hexadecimal digits: hash of the task set */
    uint16_t cores;
    uint16_t task_count;
    uint16_t resource_count;
    const struct db_task *tasks;
    const struct db_resource_spec *resources;
};

extern const uint32_t db_tables_version;
extern const uint32_t db_task_set_count;
extern const struct db_task_set *const db_task_sets[];

/* Written by the build from the files it found, sorted by name. */
extern const uint32_t db_fragment_count;
extern const struct db_fragment *const db_fragments[];

#endif
