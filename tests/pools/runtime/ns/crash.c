/*+++
 * name = "crash"
 * kind = "NS"
 * summary = "Kills its process in its tenth call: proves that a dead core is noticed at once"
 * resource_class = "test"
 * sizes = [1]
 * size_unit = "calls"
 * origin = "own"
 * licence = "Apache-2.0"
 +++*/
#include "deadbeat/fragment.h"
#include "deadbeat/port.h"

static size_t context_bytes(uint32_t size)
{
    (void)size;
    return sizeof(uint64_t);
}

static void run(struct db_context *context)
{
    uint64_t *calls = context->memory;
    if (++*calls == 10)
        port_exit(3);
}

extern const struct db_fragment db_fragment_crash;
const struct db_fragment db_fragment_crash = {
    .name = "crash", .kind = DB_NS, .context_bytes = context_bytes, .run = run};
