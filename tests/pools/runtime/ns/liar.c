/*+++
 * name = "liar"
 * kind = "NS"
 * summary = "Never passes its check: proves that a run whose work is wrong fails"
 * resource_class = "test"
 * sizes = [1, 300]
 * size_unit = "milliseconds that its check takes"
 * origin = "own"
 * licence = "Apache-2.0"
 +++*/
#include "deadbeat/fragment.h"
#include "deadbeat/port.h"

#include <stdio.h>

static void run(struct db_context *context)
{
    db_keep(context);
}

static int check(const struct db_context *context, char *why, size_t why_bytes)
{
    port_sleep_until_ns(port_now_ns() + (int64_t)context->size * 1000000);
    snprintf(why, why_bytes, "it is always wrong");
    return 1;
}

extern const struct db_fragment db_fragment_liar;
const struct db_fragment db_fragment_liar = {.name = "liar", .kind = DB_NS, .run = run, .check = check};
