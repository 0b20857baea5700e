/*+++
 * summary = "malloc of whatever allocator is linked; the object is freed outside of the sample"
 * sizes = true
 * variants = ["ring", "touch", "lifo", "budget"]
 * amount = 64
 * allocators = true
 +++*/
/* ring: the oldest of --amount objects that live is freed before a new one comes. touch: so, and every page
 * of the new object is written inside the sample. lifo: --amount objects come, then all go, the newest
 * first. budget: --amount objects come, then all go, the oldest first, as a scoped memory is emptied. */
#include "deadbeat/primitive.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { RING, TOUCH, LIFO, BUDGET };

static const char *const variants[] = {"ring", "touch", "lifo", "budget", NULL};

struct objects {
    size_t bytes, room;
    unsigned char **held;
};

static void write_pages(unsigned char *at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 4096)
        at[i] = 1;
    at[bytes - 1] = 1;
}

static void give_back(struct objects *own)
{
    for (size_t i = 0; i < own->room; i++) {
        free(own->held[i]);
        own->held[i] = NULL;
    }
}

/* As many as ever live are there before anything is timed: the memory of all has been got from the system. */
static int fill(struct objects *own, uint32_t how)
{
    for (size_t i = 0; i < own->room; i++) {
        unsigned char *object = own->held[i] = malloc(own->bytes);
        if (!object)
            return ENOMEM;
        object[0] = 1;
        if (how == TOUCH)
            write_pages(object, own->bytes);
    }
    if (how == LIFO || how == BUDGET)
        give_back(own);
    return 0;
}

static int begin(struct db_sampler *s)
{
    struct objects *own = port_map(sizeof *own, 0);
    if (!own)
        return ENOMEM;
    own->bytes = (size_t)s->run->size;
    own->room = s->run->amount > 0 ? (size_t)s->run->amount : 1;
    own->held = port_map(own->room * sizeof *own->held, 0);
    s->own = own;
    return own->held ? fill(own, s->run->variant) : ENOMEM;
}

static bool failed(struct db_sampler *s, const unsigned char *object)
{
    if (!object)
        s->why = "the allocator had no memory left";
    return !object;
}

static void in_ring(struct db_sampler *s, struct objects *own, bool touch)
{
    for (size_t at = 0; db_goes_on(s) && !s->why; at = at + 1 < own->room ? at + 1 : 0) {
        unsigned char *object;
        free(own->held[at]);
        own->held[at] = NULL;
        int64_t begin_ns = port_now_ns();
        object = malloc(own->bytes);
        if (touch && object)
            write_pages(object, own->bytes);
        DB_TOUCHED(object);
        db_sample(s, begin_ns, port_now_ns());
        if (failed(s, object))
            return;
        if (!touch)
            object[0] = 1;
        own->held[at] = object;
        db_work(s->run);
    }
}

static void in_stretches(struct db_sampler *s, struct objects *own, bool newest_first)
{
    while (db_goes_on(s) && !s->why) {
        size_t count = 0;
        while (count < own->room && db_goes_on(s)) {
            int64_t begin_ns = port_now_ns();
            unsigned char *object = malloc(own->bytes);
            DB_TOUCHED(object);
            db_sample(s, begin_ns, port_now_ns());
            if (failed(s, object))
                break;
            object[0] = 1;
            own->held[count++] = object;
            db_work(s->run);
        }
        for (size_t i = 0; i < count; i++) {
            size_t at = newest_first ? count - 1 - i : i;
            free(own->held[at]);
            own->held[at] = NULL;
        }
        s->last_ns = port_now_ns(); /* what freeing takes is no gap */
    }
}

static void run(struct db_sampler *s)
{
    uint32_t how = s->run->variant;
    if (how == RING || how == TOUCH)
        in_ring(s, s->own, how == TOUCH);
    else
        in_stretches(s, s->own, how == LIFO);
}

static void end(struct db_sampler *s)
{
    struct objects *own = s->own;
    if (!own)
        return;
    if (own->held)
        give_back(own);
    port_unmap(own->held, own->room * sizeof *own->held);
    port_unmap(own, sizeof *own);
}

const struct db_primitive db_primitive_alloc = {
    .name = "alloc", .variants = variants, .begin = begin, .run = run, .end = end};
