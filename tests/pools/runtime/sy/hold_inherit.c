/*+++
 * name = "hold_inherit"
 * kind = "SY"
 * summary = "Holds a priority-inheriting mutex for a given time: a holder that can be named"
 * resource_class = "mutex"
 * sizes = [1, 100, 1000, 5000]
 * size_unit = "microseconds"
 * blocking = true
 * hold = "its size"
 * parallel = true
 * mixed_priorities = true
 * requires = ["priority-inheritance", "realtime-policy"]
 * origin = "own"
 * licence = "Apache-2.0"
 +++*/
#include "deadbeat/port.h"
#include "deadbeat/sy/mutex.h"

static int create(struct db_resource *resource)
{
    return db_mutex_create(resource, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED);
}

static void run(struct db_context *context)
{
    struct db_mutex_object *object = db_object(context->resource);
    int error = pthread_mutex_lock(&object->mutex);
    if (error) {
        db_sy_fault(context, "pthread_mutex_lock failed", error);
        return;
    }
    for (int64_t end = port_now_ns() + (int64_t)context->size * 1000; port_now_ns() < end;)
        ;
    const bool intact = db_guard_update(context, &object->guard);
    error = pthread_mutex_unlock(&object->mutex);
    if (error || !intact) {
        db_sy_fault(context, error ? "pthread_mutex_unlock failed" : "two holders at once", error);
        return;
    }
    db_sy_done(context, 1);
}

extern const struct db_fragment db_fragment_hold_inherit;
const struct db_fragment db_fragment_hold_inherit = {
    .name = "hold_inherit",
    .kind = DB_SY,
    .context_bytes = db_sy_context_bytes,
    .setup = db_sy_setup,
    .run = run,
    .check = db_sy_check_hold,
    .shared_bytes = db_mutex_shared_bytes,
    .create = create,
    .check_resource = db_mutex_check_free,
    .destroy = db_mutex_destroy,
};
