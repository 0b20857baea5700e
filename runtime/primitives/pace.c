/*+++
 * summary = "From a release every 20 us, for which the thread spins, to the end of a copy"
 * sizes = true
 * named = true
 +++*/
/* A late one delays those after it, and each counts from its release. */
#include "deadbeat/primitive.h"

#include <errno.h>
#include <string.h>

#define PERIOD_NS 20000

static int begin(struct db_sampler *s)
{
    s->own = port_map(2 * (size_t)s->run->size, 0);
    if (!s->own)
        return ENOMEM;
    memset(s->own, 1, (size_t)s->run->size);
    return 0;
}

static void run(struct db_sampler *s)
{
    size_t bytes = (size_t)s->run->size;
    const unsigned char *from = s->own;
    unsigned char *to = (unsigned char *)s->own + bytes;
    int64_t period_ns = s->run->period_ns ? s->run->period_ns : PERIOD_NS;
    int64_t release_ns = port_now_ns();
    while (db_goes_on(s)) {
        release_ns += period_ns;
        while (port_now_ns() < release_ns)
            ;
        memcpy(to, from, bytes);
        DB_TOUCHED(to);
        int64_t now_ns = port_now_ns();
        s->last_ns = release_ns; /* to wait is no gap */
        db_sample(s, release_ns, now_ns);
        release_ns += s->last_ns - now_ns; /* to look at a late one delays no other */
        db_work(s->run);
    }
}

static void end(struct db_sampler *s)
{
    size_t bytes = (size_t)s->run->size;
    if (s->own && memcmp(s->own, (unsigned char *)s->own + bytes, bytes) != 0)
        s->why = "the copy differs from its source";
    port_unmap(s->own, 2 * bytes);
}

const struct db_primitive db_primitive_pace = {.name = "pace", .begin = begin, .run = run, .end = end};
