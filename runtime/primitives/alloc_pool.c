/*+++
 * summary = "Blocks of one size from a pool that has all its pages: the oldest goes back, one is taken"
 * sizes = true
 * variants = ["own", "shared"]
 * batches = true
 * amount = 64
 +++*/
/* own: every thread has a pool. shared: all threads have one, behind a mutex that inherits priorities. A free
 * block holds the address of the next, as in every such pool; of --amount that a thread holds the oldest goes
 * back each time, and the first byte of the new one is written. */
#include "deadbeat/primitive.h"

#include <errno.h>
#include <pthread.h>

enum { OWN, SHARED };

static const char *const variants[] = {"own", "shared", NULL};

struct block {
    struct block *next;
};

struct pool {
    alignas(DB_CACHE_LINE) struct block *first;
    unsigned char *at;
    size_t bytes; /* of all blocks */
    pthread_mutex_t mutex;
};

struct holder {
    struct pool *pool;
    unsigned char **held;
    size_t room, at;
};

static size_t room_of(const struct db_sampling *run)
{
    return run->amount > 0 ? (size_t)run->amount : 1;
}

static size_t pools_of(const struct db_sampling *run)
{
    return run->variant == OWN ? run->threads : 1;
}

static size_t shared_bytes(const struct db_sampling *run)
{
    return pools_of(run) * sizeof(struct pool);
}

/* Blocks of which none shares a cache line, all written once. */
static int fill(struct pool *pool, size_t bytes, size_t blocks)
{
    size_t each = (bytes + DB_CACHE_LINE - 1) / DB_CACHE_LINE * DB_CACHE_LINE;
    pool->bytes = each * blocks;
    pool->at = port_map(pool->bytes, 0);
    if (!pool->at)
        return ENOMEM;
    for (size_t i = blocks; i-- > 0;) {
        struct block *block = (struct block *)(pool->at + i * each);
        block->next = pool->first;
        pool->first = block;
    }
    return 0;
}

static int create(struct db_sampling *run)
{
    struct pool *pools = run->shared;
    size_t blocks = room_of(run);
    pthread_mutexattr_t inherits;
    pthread_mutexattr_init(&inherits);
    pthread_mutexattr_setprotocol(&inherits, PTHREAD_PRIO_INHERIT);
    for (size_t i = 0; i < pools_of(run); i++) {
        size_t users = run->variant == OWN ? 1 : run->threads;
        int error = fill(&pools[i], (size_t)run->size, users * blocks);
        error = error ? error : pthread_mutex_init(&pools[i].mutex, &inherits);
        if (error)
            return error;
    }
    return 0;
}

static int begin(struct db_sampler *s)
{
    struct pool *pools = s->run->shared;
    struct holder *own = port_map(sizeof *own, 0);
    if (!own)
        return ENOMEM;
    own->pool = &pools[s->run->variant == OWN ? s->place : 0];
    own->room = room_of(s->run);
    own->held = port_map(own->room * sizeof *own->held, 0);
    s->own = own;
    return own->held ? 0 : ENOMEM;
}

static inline void give(struct pool *pool, unsigned char *object)
{
    struct block *block = (struct block *)object;
    block->next = pool->first;
    pool->first = block;
}

static inline unsigned char *take(struct pool *pool)
{
    struct block *block = pool->first;
    pool->first = block->next;
    return (unsigned char *)block;
}

static inline void cycle(struct holder *own, bool locks)
{
    struct pool *pool = own->pool;
    unsigned char **held = &own->held[own->at];
    own->at = own->at + 1 < own->room ? own->at + 1 : 0;
    if (locks)
        pthread_mutex_lock(&pool->mutex);
    if (*held)
        give(pool, *held);
    unsigned char *object = take(pool);
    if (locks)
        pthread_mutex_unlock(&pool->mutex);
    DB_TOUCHED(object);
    object[0] = 1;
    *held = object;
}

static void run(struct db_sampler *s)
{
    struct holder *own = s->own;
    bool locks = s->run->variant == SHARED;
    while (db_goes_on(s)) {
        DB_SAMPLE(s, cycle(own, locks));
        db_work(s->run);
    }
}

static void end(struct db_sampler *s)
{
    struct holder *own = s->own;
    if (!own)
        return;
    for (size_t i = 0; own->held && i < own->room; i++) {
        pthread_mutex_lock(&own->pool->mutex);
        if (own->held[i])
            give(own->pool, own->held[i]);
        pthread_mutex_unlock(&own->pool->mutex);
    }
    port_unmap(own->held, own->room * sizeof *own->held);
    port_unmap(own, sizeof *own);
}

/* Every thread has given back what it held: the pool is whole, and no block is in it twice. */
static const char *check(const struct db_sampling *run)
{
    const struct pool *pools = run->shared;
    size_t blocks = room_of(run) * (run->variant == OWN ? 1 : run->threads);
    for (size_t i = 0; i < pools_of(run); i++) {
        size_t found = 0;
        for (const struct block *block = pools[i].first; block && found <= blocks; block = block->next)
            found++;
        if (found != blocks)
            return "blocks of the pool were lost";
    }
    return NULL;
}

const struct db_primitive db_primitive_alloc_pool = {.name = "alloc_pool",
                                                     .variants = variants,
                                                     .shared_bytes = shared_bytes,
                                                     .create = create,
                                                     .begin = begin,
                                                     .run = run,
                                                     .end = end,
                                                     .check = check};
