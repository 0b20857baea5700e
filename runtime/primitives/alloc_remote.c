/*+++
 * summary = "malloc in one thread of what another thread frees, on another CPU"
 * sizes = true
 * group = 2
 * spins = [""]
 * placements = ["sibling", "cache", "far"]
 * equal = true
 * amount = 64
 * allocators = true
 +++*/
/* The sample is the first thread's malloc; at most ROOM objects wait to be freed. */
#include "deadbeat/primitive.h"

#include <stdlib.h>

#define ROOM 64 /* as amount above, which bounds the memory of a run */

struct slot {
    alignas(DB_CACHE_LINE) _Atomic(unsigned char *) object;
};

struct pair {
    struct slot slots[ROOM];
    alignas(DB_CACHE_LINE) atomic_uint over; /* stretches that have ended */
    alignas(DB_CACHE_LINE) size_t put;       /* the first thread's */
    alignas(DB_CACHE_LINE) size_t taken;     /* the second's */
    unsigned stretch;
};

static size_t shared_bytes(const struct db_sampling *run)
{
    return run->threads / 2 * sizeof(struct pair);
}

static void make(struct db_sampler *s, struct pair *pair)
{
    size_t bytes = (size_t)s->run->size;
    while (db_goes_on(s) && !s->why) {
        struct slot *slot = &pair->slots[pair->put % ROOM];
        while (atomic_load_explicit(&slot->object, memory_order_acquire))
            ;
        s->last_ns = port_now_ns(); /* to wait for room is no gap */
        int64_t begin_ns = port_now_ns();
        unsigned char *object = malloc(bytes);
        DB_TOUCHED(object);
        db_sample(s, begin_ns, port_now_ns());
        if (!object) {
            s->why = "the allocator had no memory left";
            break;
        }
        object[0] = 1;
        atomic_store_explicit(&slot->object, object, memory_order_release);
        pair->put++;
        db_work(s->run);
    }
    atomic_fetch_add(&pair->over, 1);
}

static void unmake(struct pair *pair)
{
    unsigned stretch = pair->stretch++;
    for (;;) {
        bool over = atomic_load(&pair->over) != stretch; /* before the slot: what it holds was put before */
        struct slot *slot = &pair->slots[pair->taken % ROOM];
        unsigned char *object = atomic_load_explicit(&slot->object, memory_order_acquire);
        if (object) {
            free(object);
            atomic_store_explicit(&slot->object, NULL, memory_order_release);
            pair->taken++;
        } else if (over) {
            break;
        }
    }
}

static void run(struct db_sampler *s)
{
    struct pair *pair = (struct pair *)s->run->shared + s->place / 2;
    if (s->place % 2)
        unmake(pair);
    else
        make(s, pair);
}

static const char *check(const struct db_sampling *run)
{
    const struct pair *pairs = run->shared;
    for (uint32_t i = 0; i < run->threads / 2; i++)
        if (pairs[i].put != pairs[i].taken)
            return "not every object was freed by the other thread";
    return NULL;
}

const struct db_primitive db_primitive_alloc_remote = {
    .name = "alloc_remote", .group = 2, .shared_bytes = shared_bytes, .run = run, .check = check};
