/*+++
 * name = "mutex_robust"
 * kind = "SY"
 * summary = "Process-shared POSIX mutex that survives the death of its holder"
 * resource_class = "mutex"
 * sizes = [8, 64, 512]
 * size_unit = "operations"
 * quick = []
 * requires = ["robust-mutex"]
 * modes = ["default"]
 * blocking = true
 * hold = "one update of a guarded counter"
 * parallel = true
 * mixed_priorities = true
 * origin = "own; POSIX threads, PTHREAD_MUTEX_ROBUST"
 * tacle = ""
 * licence = "Apache-2.0"
 * tsan = true
 +++*/
#include "deadbeat/sy/mutex.h"

static int create(struct db_resource *resource)
{
    return db_mutex_create(resource, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST);
}

extern const struct db_fragment db_fragment_mutex_robust;
const struct db_fragment db_fragment_mutex_robust = {
    .name = "mutex_robust",
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
