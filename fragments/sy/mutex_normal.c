/*+++
 * name = "mutex_normal"
 * kind = "SY"
 * summary = "Process-shared POSIX mutex without a priority protocol"
 * resource_class = "mutex"
 * sizes = [8, 64, 512]
 * size_unit = "operations"
 * quick = [8, 64]
 * requires = ["mutex-without-protocol"]
 * modes = ["default"]
 * blocking = true
 * hold = "one update of a guarded counter"
 * parallel = true
 * mixed_priorities = true
 * origin = "own; POSIX threads"
 * tacle = ""
 * licence = "Apache-2.0"
 * tsan = true
 +++*/
#include "deadbeat/sy/mutex.h"

static int create(struct db_resource *resource)
{
    return db_mutex_create(resource, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED);
}

extern const struct db_fragment db_fragment_mutex_normal;
const struct db_fragment db_fragment_mutex_normal = {
    .name = "mutex_normal",
    .kind = DB_SY,
    .context_bytes = db_sy_context_bytes,
    .setup = db_sy_setup,
    .run = db_mutex_run,
    .check = db_sy_check,
    .shared_bytes = db_mutex_shared_bytes,
    .create = create,
    .check_resource = db_mutex_check_free,
    .destroy = db_mutex_destroy,
};
