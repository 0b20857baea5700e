/*+++
 * name = "semaphore_sysv"
 * kind = "SY"
 * summary = "System V semaphore with a token for each participant: nobody waits"
 * resource_class = "semaphore"
 * sizes = [1, 4, 16, 64]
 * size_unit = "operations"
 * quick = []
 * requires = ["sysv-ipc"]
 * modes = ["default"]
 * blocking = false
 * hold = "three atomic counts"
 * parallel = true
 * mixed_priorities = true
 * origin = "own; System V semaphores"
 * tacle = ""
 * licence = "Apache-2.0"
 * tsan = false
 +++*/
#include "deadbeat/sy/semaphore_sysv.h"

static int create(struct db_resource *resource)
{
    return db_semaphore_sysv_create(resource, resource->participants);
}

extern const struct db_fragment db_fragment_semaphore_sysv;
const struct db_fragment db_fragment_semaphore_sysv = {
    .name = "semaphore_sysv",
    .kind = DB_SY,
    .context_bytes = db_sy_context_bytes,
    .setup = db_sy_setup,
    .run = db_semaphore_sysv_run,
    .check = db_sy_check,
    .shared_bytes = db_semaphore_sysv_shared_bytes,
    .create = create,
    .check_resource = db_semaphore_sysv_check,
    .destroy = db_semaphore_sysv_destroy,
};
