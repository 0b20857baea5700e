/*+++
 * name = "mutex_inherit"
 * kind = "SY"
 * summary = "Mutex with priority inheritance"
 * resource_class = "mutex"
 * sizes = [8, 64, 512]
 * size_unit = "operations"
 * quick = [8, 64]
 * requires = ["priority-inheritance", "realtime-policy"]
 * modes = ["default"]
 * blocking = true
 * hold = "one update of a guarded counter"
 * parallel = true
 * mixed_priorities = true
 * origin = "own; POSIX threads, PTHREAD_PRIO_INHERIT, and the mutexes of real-time kernels"
 * tacle = ""
 * licence = "Apache-2.0"
 * tsan = true
 +++*/
#include "deadbeat/port_sync.h"
#include "deadbeat/sy/common.h"

struct object {
    alignas(DB_CACHE_LINE) struct port_mutex mutex;
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
    return port_mutex_init(&object->mutex);
}

static void run(struct db_context *context)
{
    struct object *object = db_object(context->resource);
    for (uint32_t i = 0; i < context->size; i++) {
        int error = port_mutex_lock(&object->mutex);
        if (error) {
            db_sy_fault(context, "the mutex could not be locked", error);
            return;
        }
        const bool intact = db_guard_update(context, &object->guard);
        error = port_mutex_unlock(&object->mutex);
        if (error || !intact) {
            db_sy_fault(context, error ? "the mutex could not be unlocked" : "two holders at once", error);
            return;
        }
    }
    db_sy_done(context, context->size);
}

static int check_resource(const struct db_resource *resource, char *why, size_t why_bytes)
{
    struct object *object = db_object(resource);
    if (!port_mutex_is_free(&object->mutex)) {
        snprintf(why, why_bytes, "the mutex is not free after the last operation");
        return 1;
    }
    return db_guard_conserved(resource, &object->guard, why, why_bytes);
}

static void destroy(struct db_resource *resource)
{
    struct object *object = db_object(resource);
    port_mutex_destroy(&object->mutex);
}

extern const struct db_fragment db_fragment_mutex_inherit;
const struct db_fragment db_fragment_mutex_inherit = {
    .name = "mutex_inherit",
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
