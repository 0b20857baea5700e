/*+++
 * name = "hiccup"
 * kind = "NS"
 * summary = "Looks at the clock for a given time; every 16th call for ten times as long, as if the host stood
 still"
 * resource_class = "test"
 * sizes = [1, 100, 1000, 5000]
 * size_unit = "microseconds"
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
    int64_t ns = (int64_t)context->size * 1000 * (++*calls % 16 ? 1 : 10);
    for (int64_t end = port_now_ns() + ns; port_now_ns() < end;)
        ;
}

static int check(const struct db_context *context, char *why, size_t why_bytes)
{
    (void)why;
    (void)why_bytes;
    return *(uint64_t *)context->memory == 0;
}

extern const struct db_fragment db_fragment_hiccup;
const struct db_fragment db_fragment_hiccup = {
    .name = "hiccup", .kind = DB_NS, .context_bytes = context_bytes, .run = run, .check = check};
