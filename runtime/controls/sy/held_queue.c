/* The queue of selftest's `price-of-hold`: first come, first served, and who waits does not sleep. No object
 * of the catalogue that is held for long will do: where a waiter sleeps, the holder wakes it and takes the
 * token again before it runs, at a cost that depends on how deep its CPU sleeps (slopes of 1.3 to 3.1). */
#include "deadbeat/sy/common.h"

struct queue { /* its memory is zero at first */
    alignas(DB_CACHE_LINE) _Atomic uint32_t next;
    alignas(DB_CACHE_LINE) _Atomic uint32_t turn;
};

static size_t bytes(uint32_t participants, uint32_t size)
{
    (void)size;
    return db_accounts_bytes(participants) + sizeof(struct queue);
}

static void run(struct db_context *context)
{
    struct queue *queue = db_object(context->resource);
    struct db_sy_task *task = context->memory;
    const uint32_t ticket = atomic_fetch_add(&queue->next, 1);
    while (atomic_load(&queue->turn) != ticket)
        db_relax();
    for (uint32_t i = 0; i < context->size; i++)
        (void)db_random(&task->random);
    db_keep(task);
    atomic_store(&queue->turn, ticket + 1);
    db_sy_done(context, 1);
}

extern const struct db_fragment db_fragment_held_queue;
const struct db_fragment db_fragment_held_queue = {
    .name = "held_queue",
    .kind = DB_SY,
    .context_bytes = db_sy_context_bytes,
    .setup = db_sy_setup,
    .run = run,
    .check = db_sy_check_hold,
    .shared_bytes = bytes,
};
