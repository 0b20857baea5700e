/*+++
 * name = "named"
 * kind = "NS"
 * summary = "Is right only in a thread whose name is that of the task of number `size`"
 * resource_class = "test"
 * sizes = [1, 2]
 * size_unit = "number of its task"
 * origin = "own"
 * licence = "Apache-2.0"
 +++*/
#include "deadbeat/fragment.h"

#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

static size_t context_bytes(uint32_t size)
{
    (void)size;
    return 16;
}

static void run(struct db_context *context)
{
    prctl(PR_GET_NAME, context->memory, 0UL, 0UL, 0UL);
}

static int check(const struct db_context *context, char *why, size_t why_bytes)
{
    char wanted[24];
    snprintf(wanted, sizeof wanted, "db-t%u", context->size);
    snprintf(why, why_bytes, "its thread is called %s", (const char *)context->memory);
    return strcmp(wanted, context->memory) != 0;
}

extern const struct db_fragment db_fragment_named;
const struct db_fragment db_fragment_named = {
    .name = "named", .kind = DB_NS, .context_bytes = context_bytes, .run = run, .check = check};
