/*+++
 * name = "atomic_line"
 * kind = "SY"
 * summary = "Atomic additions to one cache line"
 * resource_class = "atomic"
 * sizes = [16, 64, 256, 2048]
 * size_unit = "operations"
 * quick = [16, 256]
 * requires = []
 * modes = ["default"]
 * blocking = false
 * hold = "the cache line, for one read-modify-write"
 * parallel = true
 * mixed_priorities = true
 * origin = "own"
 * tacle = ""
 * licence = "Apache-2.0"
 * tsan = true
 +++*/
#include "deadbeat/sy/common.h"

#include <stdatomic.h>

struct object {
    alignas(DB_CACHE_LINE) _Atomic uint64_t count;
};

static size_t shared_bytes(uint32_t participants, uint32_t max_size)
{
    (void)max_size;
    return db_accounts_bytes(participants) + sizeof(struct object);
}

static int create(struct db_resource *resource)
{
    struct object *object = db_object(resource);
    atomic_init(&object->count, 0);
    return 0;
}

static void run(struct db_context *context)
{
    struct object *object = db_object(context->resource);
    uint64_t last = 0;
    for (uint32_t i = 0; i < context->size; i++) {
        const uint64_t seen = atomic_fetch_add(&object->count, 1);
        if (i > 0 && seen <= last) {
            db_sy_fault(context, "the shared count went backwards", 0);
            return;
        }
        last = seen;
    }
    db_sy_done(context, context->size);
}

static int check_resource(const struct db_resource *resource, char *why, size_t why_bytes)
{
    struct object *object = db_object(resource);
    return db_sy_conserved(resource, atomic_load(&object->count), why, why_bytes);
}

static void destroy(struct db_resource *resource)
{
    (void)resource;
}

extern const struct db_fragment db_fragment_atomic_line;
const struct db_fragment db_fragment_atomic_line = {
    .name = "atomic_line",
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
