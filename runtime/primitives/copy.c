/*+++
 * summary = "memcpy of memory that only this thread has"
 * sizes = true
 * batches = true
 * touches = 2
 +++*/
#include "deadbeat/primitive.h"

#include <errno.h>
#include <string.h>

struct copied {
    unsigned char *from, *to;
    size_t bytes;
};

static int begin(struct db_sampler *s)
{
    size_t bytes = (size_t)s->run->size;
    struct copied *own = port_map(sizeof *own, 0);
    if (!own)
        return ENOMEM;
    *own = (struct copied){.from = port_map(bytes, 0), .to = port_map(bytes, 0), .bytes = bytes};
    s->own = own;
    if (!own->from || !own->to)
        return ENOMEM;
    memset(own->from, 1 + (int)s->place, bytes);
    return 0;
}

static void run(struct db_sampler *s)
{
    struct copied own = *(struct copied *)s->own;
    while (db_goes_on(s)) {
        DB_SAMPLE(s, memcpy(own.to, own.from, own.bytes); DB_TOUCHED(own.to));
        db_work(s->run);
    }
}

static void end(struct db_sampler *s)
{
    struct copied *own = s->own;
    if (!own)
        return;
    if (own->from && own->to && memcmp(own->from, own->to, own->bytes) != 0)
        s->why = "the copy differs from its source";
    port_unmap(own->from, own->bytes);
    port_unmap(own->to, own->bytes);
    port_unmap(own, sizeof *own);
}

const struct db_primitive db_primitive_copy = {.name = "copy", .begin = begin, .run = run, .end = end};
