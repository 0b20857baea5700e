/*+++
 * name = "semaphore_posix"
 * kind = "SY"
 * summary = "Counting semaphore with a token for each participant: nobody waits"
 * resource_class = "semaphore"
 * sizes = [8, 64, 512]
 * size_unit = "operations"
 * quick = [8, 64]
 * requires = []
 * modes = ["default"]
 * blocking = false
 * hold = "one token, nothing else"
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
};

static size_t shared_bytes(uint32_t participants, uint32_t max_size)
{
    (void)max_size;
    return db_accounts_bytes(participants) + sizeof(struct object);
}

static int create(struct db_resource *resource)
{
    struct object *object = db_object(resource);
    return port_semaphore_init(&object->semaphore, resource->participants);
}

static void run(struct db_context *context)
{
    struct object *object = db_object(context->resource);
    for (uint32_t i = 0; i < context->size; i++) {
        const int error = port_semaphore_take(&object->semaphore);
        if (error) {
            db_sy_fault(context, "no token could be taken", error);
            return;
        }
        const int full = port_semaphore_give(&object->semaphore);
        if (full) {
            db_sy_fault(context, "the token could not be given back", full);
            return;
        }
    }
    db_sy_done(context, context->size);
}

static int check_resource(const struct db_resource *resource, char *why, size_t why_bytes)
{
    struct object *object = db_object(resource);
    const int64_t value = port_semaphore_tokens(&object->semaphore);
    return db_sy_tokens_back(value, resource->participants, why, why_bytes);
}

static void destroy(struct db_resource *resource)
{
    struct object *object = db_object(resource);
    port_semaphore_destroy(&object->semaphore);
}

extern const struct db_fragment db_fragment_semaphore_posix;
const struct db_fragment db_fragment_semaphore_posix = {
    .name = "semaphore_posix",
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
