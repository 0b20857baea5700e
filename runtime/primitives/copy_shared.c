/*+++
 * summary = "memcpy from one source that all threads read to a destination that only this thread has"
 * shares = true
 * batches = true
 +++*/
#include "deadbeat/primitive.h"

#include <errno.h>
#include <string.h>

static size_t shared_bytes(const struct db_sampling *run)
{
    return (size_t)run->size;
}

static int create(struct db_sampling *run)
{
    memset(run->shared, 7, (size_t)run->size);
    return 0;
}

static int begin(struct db_sampler *s)
{
    s->own = port_map((size_t)s->run->size, 0);
    return s->own ? 0 : ENOMEM;
}

static void run(struct db_sampler *s)
{
    unsigned char *to = s->own;
    const unsigned char *from = s->run->shared;
    size_t bytes = (size_t)s->run->size;
    while (db_goes_on(s)) {
        DB_SAMPLE(s, memcpy(to, from, bytes); DB_TOUCHED(to));
        db_work(s->run);
    }
}

static void end(struct db_sampler *s)
{
    if (s->own && memcmp(s->own, s->run->shared, (size_t)s->run->size) != 0)
        s->why = "the copy differs from its source";
    port_unmap(s->own, (size_t)s->run->size);
}

const struct db_primitive db_primitive_copy_shared = {.name = "copy_shared",
                                                      .shared_bytes = shared_bytes,
                                                      .create = create,
                                                      .begin = begin,
                                                      .run = run,
                                                      .end = end};
