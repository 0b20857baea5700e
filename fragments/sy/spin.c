/*+++
 * name = "spin"
 * kind = "SY"
 * summary = "Test-and-test-and-set spin lock"
 * resource_class = "spin"
 * sizes = [16, 64, 1024]
 * size_unit = "operations"
 * quick = []
 * requires = []
 * modes = ["default"]
 * blocking = false
 * hold = "one update of a guarded counter"
 * parallel = true
 * mixed_priorities = false
 * origin = "own; the algorithm of any textbook"
 * tacle = ""
 * licence = "Apache-2.0"
 * tsan = true
 +++*/
/* Under SCHED_FIFO a spinning task never yields to a holder of lower priority on its own core: a
 * live-lock, hence mixed_priorities = false. Not a ticket lock: where holders can be preempted
 * (--policy other) every hand-over to a waiter that does not run would cost a time slice. */
#include "deadbeat/sy/common.h"

#include <stdatomic.h>

struct object {
    alignas(DB_CACHE_LINE) _Atomic uint32_t held;
    struct db_guard guard;
};

static size_t shared_bytes(uint32_t participants, uint32_t max_size)
{
    (void)max_size;
    return db_accounts_bytes(participants) + sizeof(struct object);
}

static int create(struct db_resource *resource)
{
    struct object *object = db_object(resource);
    atomic_init(&object->held, 0);
    return 0;
}

static void lock(_Atomic uint32_t *held)
{
    while (atomic_exchange_explicit(held, 1, memory_order_acquire)) {
        while (atomic_load_explicit(held, memory_order_relaxed)) { /* shared reads while it is held */
            db_relax();
        }
    }
}

static void unlock(_Atomic uint32_t *held)
{
    atomic_store_explicit(held, 0, memory_order_release);
}

static void run(struct db_context *context)
{
    struct object *object = db_object(context->resource);
    bool intact = true;
    for (uint32_t i = 0; i < context->size; i++) {
        lock(&object->held);
        intact &= db_guard_update(context, &object->guard);
        unlock(&object->held);
    }
    if (!intact) {
        db_sy_fault(context, "two holders at once", 0);
        return;
    }
    db_sy_done(context, context->size);
}

static int check_resource(const struct db_resource *resource, char *why, size_t why_bytes)
{
    struct object *object = db_object(resource);
    if (atomic_load(&object->held)) {
        snprintf(why, why_bytes, "the lock is not free after the last operation");
        return 1;
    }
    return db_guard_conserved(resource, &object->guard, why, why_bytes);
}

static void destroy(struct db_resource *resource)
{
    (void)resource;
}

extern const struct db_fragment db_fragment_spin;
const struct db_fragment db_fragment_spin = {
    .name = "spin",
    .kind = DB_SY,
    .context_bytes = db_sy_context_bytes,
    .setup = db_sy_setup,
    .run = run,
    .check = db_sy_check,
    .shared_bytes = shared_bytes,
    .create = create,
    .check_resource = check_resource,
    .destroy = destroy,
};
