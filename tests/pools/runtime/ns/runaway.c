/*+++
 * name = "runaway"
 * kind = "NS"
 * summary = "Computes for SIZE seconds in its tenth call, which nobody expects: only the guardian can end it
 sooner"
 * resource_class = "test"
 * sizes = [1]
 * size_unit = "s"
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
    if (++*calls != 10)
        return;
    for (int64_t end = port_now_ns() + INT64_C(1000000000) * context->size; port_now_ns() < end;)
        ;
}

extern const struct db_fragment db_fragment_runaway;
const struct db_fragment db_fragment_runaway = {
    .name = "runaway", .kind = DB_NS, .context_bytes = context_bytes, .run = run};
