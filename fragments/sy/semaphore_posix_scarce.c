/*+++
 * name = "semaphore_posix_scarce"
 * kind = "SY"
 * summary = "Counting semaphore with fewer tokens than participants, held for a while"
 * resource_class = "semaphore"
 * sizes = [64, 512, 4096]
 * size_unit = "generator steps while the token is held"
 * quick = [64, 512]
 * requires = []
 * modes = ["default"]
 * blocking = true
 * hold = "size steps of a pseudo-random generator on the task's own memory"
 * parallel = true
 * mixed_priorities = true
 * origin = "own; POSIX semaphores, and the counting semaphores of real-time kernels"
 * tacle = ""
 * licence = "Apache-2.0"
 * tsan = true
 +++*/
#include "deadbeat/port_sync.h"
#include "deadbeat/sy/common.h"

struct object {
    alignas(DB_CACHE_LINE) struct port_semaphore semaphore;
    _Atomic uint32_t holders; /* in the semaphore's own line: it costs no transfer of its own */
    _Atomic uint64_t taken;
    _Atomic uint32_t holder;
};

static size_t shared_bytes(uint32_t participants, uint32_t max_size)
{
    (void)max_size;
    return db_accounts_bytes(participants) + sizeof(struct object);
}

static int create(struct db_resource *resource)
{
    struct object *object = db_object(resource);
    return port_semaphore_init(&object->semaphore, db_scarce_tokens(resource));
}

static void hold(struct db_sy_task *task, uint32_t steps)
{
    uint64_t random = task->random;
    for (uint32_t i = 0; i < steps; i++) {
        (void)db_random(&random);
    }
    task->random = random;
    db_keep(task);
}

static void run(struct db_context *context)
{
    struct object *object = db_object(context->resource);
    const int error = port_semaphore_take(&object->semaphore);
    if (error) {
        db_sy_fault(context, "no token could be taken", error);
        return;
    }
    const uint32_t before = atomic_fetch_add(&object->holders, 1);
    db_sy_holds(context, &object->holder);
    hold(context->memory, context->size);
    atomic_fetch_add(&object->taken, 1);
    atomic_fetch_sub(&object->holders, 1);
    const int full = port_semaphore_give(&object->semaphore);
    if (full) {
        db_sy_fault(context, "the token could not be given back", full);
        return;
    }
    if (before >= db_scarce_tokens(context->resource)) {
        db_sy_fault(context, "more holders than tokens", 0);
        return;
    }
    db_sy_done(context, 1);
}

static int check_resource(const struct db_resource *resource, char *why, size_t why_bytes)
{
    struct object *object = db_object(resource);
    const int64_t value = port_semaphore_tokens(&object->semaphore);
    if (db_sy_tokens_back(value, db_scarce_tokens(resource), why, why_bytes)) {
        return 1;
    }
    return db_sy_conserved(resource, atomic_load(&object->taken), why, why_bytes);
}

static void destroy(struct db_resource *resource)
{
    struct object *object = db_object(resource);
    port_semaphore_destroy(&object->semaphore);
}

extern const struct db_fragment db_fragment_semaphore_posix_scarce;
const struct db_fragment db_fragment_semaphore_posix_scarce = {
    .name = "semaphore_posix_scarce",
    .kind = DB_SY,
    .context_bytes = db_sy_context_bytes,
    .setup = db_sy_setup,
    .run = run,
    .check = db_sy_check_hold,
    .shared_bytes = shared_bytes,
    .create = create,
    .check_resource = check_resource,
    .destroy = destroy,
};
