/*+++
 * name = "futex"
 * kind = "SY"
 * summary = "Three-state mutex on a raw futex: system calls only when somebody waits"
 * resource_class = "mutex"
 * sizes = [8, 64, 512]
 * size_unit = "operations"
 * quick = [8, 64]
 * requires = []
 * modes = ["default"]
 * blocking = true
 * hold = "one update of a guarded counter"
 * parallel = true
 * mixed_priorities = true
 * origin = "own; the mutex with states free, held, held and waited for of Drepper, Futexes Are Tricky"
 * tacle = ""
 * licence = "Apache-2.0"
 * tsan = true
 +++*/
/* On Linux port_wait() and port_wake_one() are the two futex calls. */
#include "deadbeat/sy/common.h"

enum { FREE = 0, HELD = 1, WAITED_FOR = 2 };

struct object {
    alignas(DB_CACHE_LINE) atomic_uint state;
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
    atomic_init(&object->state, FREE);
    return 0;
}

static void lock(atomic_uint *state)
{
    unsigned found = FREE;
    if (atomic_compare_exchange_strong_explicit(state, &found, HELD, memory_order_acquire,
                                                memory_order_relaxed)) {
        return;
    }
    /* Whoever had to wait takes it as WAITED_FOR: there may be more waiters. */
    while (atomic_exchange_explicit(state, WAITED_FOR, memory_order_acquire) != FREE) {
        (void)port_wait(state, WAITED_FOR, -1);
    }
}

static void unlock(atomic_uint *state)
{
    if (atomic_exchange_explicit(state, FREE, memory_order_release) == WAITED_FOR) {
        port_wake_one(state);
    }
}

static void run(struct db_context *context)
{
    struct object *object = db_object(context->resource);
    bool intact = true;
    for (uint32_t i = 0; i < context->size; i++) {
        lock(&object->state);
        intact &= db_guard_update(context, &object->guard);
        unlock(&object->state);
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
    if (atomic_load(&object->state) != FREE) {
        snprintf(why, why_bytes, "the lock is not free after the last operation");
        return 1;
    }
    return db_guard_conserved(resource, &object->guard, why, why_bytes);
}

static void destroy(struct db_resource *resource)
{
    (void)resource;
}

extern const struct db_fragment db_fragment_futex;
const struct db_fragment db_fragment_futex = {
    .name = "futex",
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
