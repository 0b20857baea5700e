/*+++
 * summary = "A cache line from CPU to CPU and back: half of a sample is one way"
 * variants = ["cas", "readwrite"]
 * group = 2
 * spins = ["cas", "readwrite"]
 * placements = ["sibling", "cache", "far"]
 * equal = true
 * batches = true
 +++*/
/* cas: both threads compare and swap one word. readwrite: each writes a line of its own and reads the
 * other's. Every pair has a page that nobody else touched, first touched by its first thread, on its CPU. */
#include "deadbeat/primitive.h"

#include <errno.h>

enum { CAS, READWRITE };

static const char *const variants[] = {"cas", "readwrite", NULL};

enum { PONG, PING };

struct lines {
    alignas(2 * DB_CACHE_LINE) atomic_uint ping; /* twice: some fetch lines by two */
    alignas(2 * DB_CACHE_LINE) atomic_uint pong;
    alignas(2 * DB_CACHE_LINE) atomic_uint over; /* stretches that have ended */
};

struct pair {
    struct lines *lines;
    unsigned stretch, turn; /* of the second thread; of the first */
};

static size_t shared_bytes(const struct db_sampling *run)
{
    return run->threads / 2 * sizeof(struct pair);
}

static int begin(struct db_sampler *s)
{
    struct pair *pair = (struct pair *)s->run->shared + s->place / 2;
    if (s->place % 2)
        return 0;
    pair->lines = port_map(sizeof *pair->lines, 0);
    if (!pair->lines)
        return ENOMEM;
    atomic_store(&pair->lines->ping, 0);
    return 0;
}

static inline bool swapped(atomic_uint *word, unsigned from, unsigned to)
{
    return atomic_compare_exchange_strong_explicit(word, &from, to, memory_order_relaxed,
                                                   memory_order_relaxed);
}

/* One round trip, seen by the first thread: it ends with the line where the second had it. */
static inline void swap_once(struct lines *lines)
{
    while (!swapped(&lines->ping, PONG, PING))
        ;
}

static inline void write_once(struct lines *lines, unsigned turn)
{
    atomic_store_explicit(&lines->ping, turn, memory_order_release);
    while (atomic_load_explicit(&lines->pong, memory_order_acquire) != turn)
        ;
}

static void ping(struct db_sampler *s, struct pair *pair, uint32_t how)
{
    struct lines *lines = pair->lines;
    if (how == CAS) { /* the second is there: the first swap it answers */
        swap_once(lines);
        while (db_goes_on(s)) {
            DB_SAMPLE(s, swap_once(lines));
            db_work(s->run);
        }
        while (atomic_load(&lines->ping) != PONG)
            ;
    } else {
        unsigned turn = pair->turn;
        write_once(lines, ++turn);
        while (db_goes_on(s)) {
            DB_SAMPLE(s, write_once(lines, ++turn));
            db_work(s->run);
        }
        pair->turn = turn;
    }
    atomic_fetch_add(&lines->over, 1);
}

static void pong(struct pair *pair, uint32_t how)
{
    struct lines *lines = pair->lines;
    unsigned stretch = pair->stretch++, seen = atomic_load(&lines->pong);
    while (atomic_load_explicit(&lines->over, memory_order_relaxed) == stretch) {
        if (how == CAS) {
            swapped(&lines->ping, PING, PONG);
        } else {
            unsigned turn = atomic_load_explicit(&lines->ping, memory_order_acquire);
            if (turn != seen)
                atomic_store_explicit(&lines->pong, seen = turn, memory_order_release);
        }
    }
}

static void run(struct db_sampler *s)
{
    struct pair *pair = (struct pair *)s->run->shared + s->place / 2;
    if (s->place % 2)
        pong(pair, s->run->variant);
    else
        ping(s, pair, s->run->variant);
}

const struct db_primitive db_primitive_line = {.name = "line",
                                               .variants = variants,
                                               .group = 2,
                                               .shared_bytes = shared_bytes,
                                               .begin = begin,
                                               .run = run};
