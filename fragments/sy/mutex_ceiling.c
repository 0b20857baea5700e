/*+++
 * name = "mutex_ceiling"
 * kind = "SY"
 * summary = "Process-shared POSIX mutex with a priority ceiling"
 * resource_class = "mutex"
 * sizes = [1, 4, 16]
 * size_unit = "operations"
 * quick = []
 * requires = ["priority-ceiling", "realtime-policy"]
 * modes = ["default"]
 * blocking = true
 * hold = "one update of a guarded counter, at the ceiling's priority"
 * parallel = false
 * mixed_priorities = true
 * origin = "own; POSIX threads, PTHREAD_PRIO_PROTECT"
 * tacle = ""
 * licence = "Apache-2.0"
 * tsan = true
 +++*/
#include "deadbeat/sy/mutex.h"

static int create(struct db_resource *resource)
{
    if (resource->ceiling <= 0) {
        return ENOTSUP; /* there is no ceiling without a real-time policy */
    }
    return db_mutex_create(resource, PTHREAD_PRIO_PROTECT, PTHREAD_MUTEX_STALLED);
}

/* The first lock of a thread makes the C library allocate its record of ceilings and read the
 * thread's priority: both belong before the first release. Fails with EINVAL unless the thread has
 * its real-time priority already. */
static int setup(struct db_context *context)
{
    struct db_mutex_object *object = db_object(context->resource);
    const int error = pthread_mutex_lock(&object->mutex);
    if (error) {
        return error;
    }
    (void)pthread_mutex_unlock(&object->mutex);
    return db_sy_setup(context);
}

extern const struct db_fragment db_fragment_mutex_ceiling;
const struct db_fragment db_fragment_mutex_ceiling = {
    .name = "mutex_ceiling",
    .kind = DB_SY,
    .context_bytes = db_sy_context_bytes,
    .setup = setup,
    .run = db_mutex_run,
    .check = db_sy_check,
    .shared_bytes = db_mutex_shared_bytes,
    .create = create,
    /* Only a real-time thread can lock it, and who checks may be none: the guard must do. */
    .check_resource = db_mutex_check_guard,
    .destroy = db_mutex_destroy,
};
