/*+++
 * name = "liar"
 * kind = "NS"
 * summary = "Never passes its check: proves that a run whose work is wrong fails"
 * resource_class = "test"
 * sizes = [1]
 * size_unit = "calls"
 * origin = "own"
 * licence = "Apache-2.0"
 +++*/
#include "deadbeat/fragment.h"

#include <stdio.h>

static void run(struct db_context *context)
{
    db_keep(context);
}

static int check(const struct db_context *context, char *why, size_t why_bytes)
{
    (void)context;
    snprintf(why, why_bytes, "it is always wrong");
    return 1;
}

extern const struct db_fragment db_fragment_liar;
const struct db_fragment db_fragment_liar = {.name = "liar", .kind = DB_NS, .run = run, .check = check};
