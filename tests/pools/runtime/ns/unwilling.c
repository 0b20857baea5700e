/*+++
 * name = "unwilling"
 * kind = "NS"
 * summary = "Cannot be set up: proves that the reason reaches the user"
 * resource_class = "test"
 * sizes = [1]
 * size_unit = "calls"
 * origin = "own"
 * licence = "Apache-2.0"
 +++*/
#include "deadbeat/fragment.h"

#include <errno.h>

static int setup(struct db_context *context)
{
    (void)context;
    return ENOSYS;
}

static void run(struct db_context *context)
{
    db_keep(context);
}

extern const struct db_fragment db_fragment_unwilling;
const struct db_fragment db_fragment_unwilling = {
    .name = "unwilling", .kind = DB_NS, .setup = setup, .run = run};
