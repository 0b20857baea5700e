/*+++
 * name = "crossing"
 * kind = "SY"
 * summary = "Claims to be local to a core, and all its objects are one cache line"
 * resource_class = "atomic"
 * sizes = [16]
 * size_unit = "operations"
 * quick = [16]
 * blocking = false
 * hold = "the cache line, for one addition"
 * parallel = true
 * origin = "own"
 * licence = "Apache-2.0"
 +++*/
#include "deadbeat/port.h"
#include "deadbeat/sy/common.h"

#include <errno.h>
#include <stdatomic.h>

static atomic_uint *line; /* made with the first object, before the cores' processes are */

static size_t shared_bytes(uint32_t participants, uint32_t max_size)
{
    (void)max_size;
    return db_accounts_bytes(participants);
}

static int create(struct db_resource *resource)
{
    (void)resource;
    if (!line)
        line = port_map(DB_CACHE_LINE, 1);
    return line ? 0 : ENOMEM;
}

static void run(struct db_context *context)
{
    for (uint32_t i = 0; i < context->size; i++)
        atomic_fetch_add(line, 1);
    db_sy_done(context, context->size);
}

extern const struct db_fragment db_fragment_crossing;
const struct db_fragment db_fragment_crossing = {
    .name = "crossing",
    .kind = DB_SY,
    .context_bytes = db_sy_context_bytes,
    .setup = db_sy_setup,
    .run = run,
    .check = db_sy_check,
    .shared_bytes = shared_bytes,
    .create = create,
};
