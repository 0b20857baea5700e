/*+++
 * name = "event_flag"
 * kind = "SY"
 * summary = "Event flags on a word waited on: wait for any flag, clear it, work, set it again"
 * resource_class = "event-flag"
 * sizes = [8, 64, 512]
 * size_unit = "operations"
 * quick = []
 * requires = []
 * modes = ["default"]
 * blocking = true
 * hold = "one update of the guarded counter that belongs to the flag"
 * parallel = true
 * mixed_priorities = true
 * origin = "own; the event flags of real-time kernels (wait for any, clear on exit)"
 * tacle = ""
 * licence = "Apache-2.0"
 * tsan = true
 +++*/
/* A flag that is awaited is certain to arrive, because whoever cleared it sets it again: no
 * rendezvous. Setting wakes every waiter, as event flags do; a token pool wakes one. Waiting for
 * all of several flags is left out: a stream of waiters for any could starve it without bound. */
#include "deadbeat/sy/common.h"

#define MAX_FLAGS 32

struct object {
    alignas(DB_CACHE_LINE) atomic_uint flags;
    _Atomic uint32_t waiters;
    struct db_guard guards[MAX_FLAGS];
};

static size_t shared_bytes(uint32_t participants, uint32_t max_size)
{
    (void)max_size;
    return db_accounts_bytes(participants) + sizeof(struct object);
}

static uint32_t flag_count(const struct db_resource *resource)
{
    const uint32_t tokens = db_scarce_tokens(resource);
    return tokens < MAX_FLAGS ? tokens : MAX_FLAGS;
}

static uint32_t all_flags(const struct db_resource *resource)
{
    return UINT32_MAX >> (MAX_FLAGS - flag_count(resource));
}

static int create(struct db_resource *resource)
{
    struct object *object = db_object(resource);
    atomic_init(&object->flags, all_flags(resource));
    return 0;
}

/* Clears one flag, the lowest that is set, and returns it; 0 if none is set. */
static uint32_t clear_any(struct object *object)
{
    unsigned flags = atomic_load(&object->flags);
    while (flags != 0) {
        const uint32_t flag = flags & -flags;
        if (atomic_compare_exchange_weak(&object->flags, &flags, flags & ~flag)) {
            return flag;
        }
    }
    return 0;
}

/* The kernel sleeps only while no flag is set, and whoever sets one looks for waiters afterwards. */
static uint32_t wait_any(struct object *object)
{
    uint32_t flag = clear_any(object);
    if (flag != 0) {
        return flag;
    }
    atomic_fetch_add(&object->waiters, 1);
    while ((flag = clear_any(object)) == 0) {
        (void)port_wait(&object->flags, 0, -1);
    }
    atomic_fetch_sub(&object->waiters, 1);
    return flag;
}

static void set_flag(struct object *object, uint32_t flag)
{
    atomic_fetch_or(&object->flags, flag);
    if (atomic_load(&object->waiters) > 0) {
        port_wake(&object->flags);
    }
}

static void run(struct db_context *context)
{
    struct object *object = db_object(context->resource);
    bool intact = true;
    for (uint32_t i = 0; i < context->size; i++) {
        const uint32_t flag = wait_any(object);
        intact &= db_guard_update(context, &object->guards[__builtin_ctz(flag)]);
        set_flag(object, flag);
    }
    if (!intact) {
        db_sy_fault(context, "two tasks got one flag", 0);
        return;
    }
    db_sy_done(context, context->size);
}

static int check_resource(const struct db_resource *resource, char *why, size_t why_bytes)
{
    struct object *object = db_object(resource);
    const uint32_t flags = atomic_load(&object->flags);
    if (flags != all_flags(resource)) {
        snprintf(why, why_bytes, "the flags are %#" PRIx32 " after the last operation, expected %#" PRIx32,
                 flags, all_flags(resource));
        return 1;
    }
    uint64_t updates = 0;
    for (uint32_t i = 0; i < flag_count(resource); i++) {
        if (!db_guard_intact(&object->guards[i])) {
            snprintf(why, why_bytes, "the guarded words of flag %" PRIu32 " differ", i);
            return 1;
        }
        updates += object->guards[i].first;
    }
    return db_sy_conserved(resource, updates, why, why_bytes);
}

static void destroy(struct db_resource *resource)
{
    (void)resource;
}

extern const struct db_fragment db_fragment_event_flag;
const struct db_fragment db_fragment_event_flag = {
    .name = "event_flag",
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
