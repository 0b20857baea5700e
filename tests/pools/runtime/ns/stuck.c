/*+++
 * name = "stuck"
 * kind = "NS"
 * summary = "Sleeps without end in its tenth call: only the guardian can end it"
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
        port_sleep_until_ns(port_now_ns() + INT64_C(3600) * 1000000000);
}

extern const struct db_fragment db_fragment_stuck;
const struct db_fragment db_fragment_stuck = {
    .name = "stuck", .kind = DB_NS, .context_bytes = context_bytes, .run = run};
