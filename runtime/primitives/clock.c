/*+++
 * summary = "Nothing between two readings of the clock: what a sample costs and cannot resolve"
 * batches = true
 +++*/
#include "deadbeat/primitive.h"

static void run(struct db_sampler *s)
{
    while (db_goes_on(s))
        DB_SAMPLE(s, __asm__ volatile(""));
}

const struct db_primitive db_primitive_clock = {.name = "clock", .run = run};
