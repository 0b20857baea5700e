/*
 * Background loads: what one worker gets, the kinds of workers that a host port adds to the portable ones
 * of runtime/src/host/load_work.c, and what those need of it. A port without any has an empty table.
 */
#ifndef DEADBEAT_PORT_LOAD_H
#define DEADBEAT_PORT_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One worker: a process that does the same operation again and again. */
struct db_load {
    int64_t amount;          /* percent, bytes of all workers of its kind together, or Hz */
    uint32_t index, workers; /* which of how many of its kind */
    uint64_t most;           /* operations after which it ends; 0: none */
    volatile uint64_t *done; /* operations so far, which its parent reads once it has ended */
    const char *folder;      /* of its files; they have no name any more while they are used */
    const char *doing;       /* what has failed, for a person; NULL: working at all */
};

/* What a kind's workers do: `work` returns 0 after `most` operations, or an errno. */
struct db_load_kind {
    const char *name;   /* --NAME N begins N workers */
    const char *option; /* of its amount; NULL: none */
    int64_t usual, least, greatest;
    int (*work)(struct db_load *load);
};

extern const struct db_load_kind port_load_kinds[];
extern const uint32_t port_load_kind_count;

/* Counts operations; whether there are more to do. */
static inline bool db_load_count(struct db_load *load, uint64_t operations)
{
    *load->done += operations;
    return load->most == 0 || *load->done < load->most;
}

static inline int db_load_fails(struct db_load *load, const char *doing, int error)
{
    load->doing = doing;
    return error;
}

/* Bytes of this worker, whole blocks and at least one. */
static inline size_t db_load_bytes(const struct db_load *load, size_t block)
{
    uint64_t blocks = (uint64_t)load->amount / load->workers / block, most = SIZE_MAX / 2 / block;
    return (size_t)(blocks == 0 ? 1 : blocks < most ? blocks : most) * block;
}

/* CPU time of the calling process, in ns. */
int64_t port_cpu_ns(void);
/* Bytes of the largest cache of a CPU; 0: unknown. */
size_t port_cache_bytes(void);
/* Bytes of memory that nobody uses; 0: unknown. */
size_t port_free_bytes(void);
/* Short of memory, the system ends the caller before others. */
void port_give_way(void);

#endif
