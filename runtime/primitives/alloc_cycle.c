/*+++
 * summary = "free of the oldest of --amount objects and malloc of a new one, together"
 * sizes = true
 * variants = ["plain", "touch"]
 * batches = true
 * amount = 64
 * allocators = true
 * named = true
 +++*/
/* plain: the first byte of the new object is written. touch: so is one of every page, and the last. */
#include "deadbeat/primitive.h"

#include <errno.h>
#include <stdlib.h>

#define PAGE 4096

enum { PLAIN, TOUCH };

static const char *const variants[] = {"plain", "touch", NULL};

struct ring {
    size_t bytes, room, at;
    unsigned char **held;
    bool empty; /* of memory */
};

static inline void cycle(struct ring *own, bool touch)
{
    unsigned char **held = &own->held[own->at];
    own->at = own->at + 1 < own->room ? own->at + 1 : 0;
    free(*held);
    unsigned char *object = malloc(own->bytes);
    DB_TOUCHED(object);
    *held = object;
    if (!object) {
        own->empty = true;
        return;
    }
    object[0] = 1;
    for (size_t i = PAGE; touch && i < own->bytes; i += PAGE)
        object[i] = 1;
    if (touch)
        object[own->bytes - 1] = 1;
}

static int begin(struct db_sampler *s)
{
    struct ring *own = port_map(sizeof *own, 0);
    if (!own)
        return ENOMEM;
    own->bytes = (size_t)s->run->size;
    own->room = s->run->amount > 0 ? (size_t)s->run->amount : 1;
    own->held = port_map(own->room * sizeof *own->held, 0);
    s->own = own;
    if (!own->held)
        return ENOMEM;
    /* as many as ever live are there before anything is timed */
    for (size_t i = 0; i < own->room; i++)
        cycle(own, s->run->variant == TOUCH);
    return own->empty ? ENOMEM : 0;
}

static void run(struct db_sampler *s)
{
    struct ring *own = s->own;
    bool touch = s->run->variant == TOUCH;
    while (db_goes_on(s) && !own->empty) {
        DB_SAMPLE(s, cycle(own, touch));
        db_work(s->run);
    }
    if (own->empty)
        s->why = "the allocator had no memory left";
}

static void end(struct db_sampler *s)
{
    struct ring *own = s->own;
    if (!own)
        return;
    for (size_t i = 0; own->held && i < own->room; i++)
        free(own->held[i]);
    port_unmap(own->held, own->room * sizeof *own->held);
    port_unmap(own, sizeof *own);
}

const struct db_primitive db_primitive_alloc_cycle = {
    .name = "alloc_cycle", .variants = variants, .begin = begin, .run = run, .end = end};
