/*+++
 * summary = "A cache line from CPU to CPU, cas and readwrite there and back, message one way"
 * variants = ["cas", "readwrite", "message"]
 * group = 2
 * spins = ["cas", "readwrite", "message"]
 * placements = ["sibling", "cache", "far", "each"]
 * equal = true
 * batches = true
 +++*/
/* cas: both threads compare and swap one word, and do nothing else, as core-to-core-latency's first.
 * readwrite: each writes a line of its own and reads the other's. message: so, with the time in it; both
 * threads take samples, each of what it receives, from the sender's reading of the clock to its own. Every
 * pair has pages that nobody else touched, first touched by its first thread, on its CPU. What a line's way
 * takes depends on its address by some percent (a share of the last-level cache looks after each): every run
 * has other lines. */
#include "deadbeat/primitive.h"

#include <errno.h>
#include <sys/random.h>

enum { CAS, READWRITE, MESSAGE };

static const char *const variants[] = {"cas", "readwrite", "message", NULL};

enum { PONG, PING };

/* Swaps of the second thread between two looks whether it is over. */
#define ANSWERS 1000

struct lines {
    alignas(2 * DB_CACHE_LINE) atomic_uint ping; /* twice: some fetch lines by two */
    int64_t ping_ns;
    alignas(2 * DB_CACHE_LINE) atomic_uint pong;
    int64_t pong_ns;
    alignas(2 * DB_CACHE_LINE) atomic_uint over; /* stretches that have ended */
    alignas(2 * DB_CACHE_LINE) atomic_uint left; /* of them, those that the second thread has left */
};

/* A page for each of its lines to begin in, and what is behind the last. */
#define ROOM (4096 + sizeof(struct lines))

struct pair {
    struct lines *lines;
    unsigned stretch, turn; /* of the second thread; of the first */
};

static size_t shared_bytes(const struct db_sampling *run)
{
    return run->threads / 2 * sizeof(struct pair);
}

static int create(struct db_sampling *run)
{
    if (run->variant == MESSAGE)
        run->batch = 1;
    return 0;
}

static int begin(struct db_sampler *s)
{
    struct pair *pair = (struct pair *)s->run->shared + s->place / 2;
    if (s->place % 2)
        return 0;
    uint16_t chosen;
    unsigned char *room = port_map(ROOM, 0);
    if (!room || getrandom(&chosen, sizeof chosen, 0) != (ssize_t)sizeof chosen)
        return ENOMEM;
    pair->lines = (struct lines *)(room + chosen % (4096 / alignof(struct lines)) * alignof(struct lines));
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

/* The clock is one for all CPUs: what seems to arrive before it was sent shows that it is not. */
static inline void received(struct db_sampler *s, int64_t sent_ns)
{
    int64_t now = port_now_ns();
    if (sent_ns < s->last_ns || sent_ns > now) {
        s->why = "the clocks of two CPUs differ by more than a message takes";
        sent_ns = s->last_ns = now;
    }
    db_sample(s, sent_ns, now);
}

static void send_messages(struct db_sampler *s, struct pair *pair)
{
    struct lines *lines = pair->lines;
    write_once(lines, ++pair->turn); /* the second is there */
    s->last_ns = port_now_ns();
    while (db_goes_on(s)) {
        lines->ping_ns = port_now_ns();
        write_once(lines, ++pair->turn);
        received(s, lines->pong_ns);
        db_work(s->run);
    }
    atomic_fetch_add(&lines->over, 1);
}

static void answer_messages(struct db_sampler *s, struct pair *pair)
{
    struct lines *lines = pair->lines;
    unsigned stretch = pair->stretch++, seen = atomic_load(&lines->pong);
    for (bool first = true; atomic_load_explicit(&lines->over, memory_order_relaxed) == stretch;) {
        unsigned turn = atomic_load_explicit(&lines->ping, memory_order_acquire);
        if (turn == seen)
            continue;
        if (first)
            s->last_ns = port_now_ns();
        else
            received(s, lines->ping_ns);
        first = false;
        lines->pong_ns = port_now_ns();
        atomic_store_explicit(&lines->pong, seen = turn, memory_order_release);
    }
}

static void ping_by_writes(struct db_sampler *s, struct pair *pair)
{
    struct lines *lines = pair->lines;
    unsigned turn = pair->turn;
    write_once(lines, ++turn);
    while (db_goes_on(s)) {
        DB_SAMPLE(s, write_once(lines, ++turn));
        db_work(s->run);
    }
    pair->turn = turn;
    atomic_fetch_add(&lines->over, 1);
}

/* It goes on until the second has seen that it is over: that looks after ANSWERS of its own only. */
static void ping_by_swaps(struct db_sampler *s, struct lines *lines)
{
    swap_once(lines); /* the second is there: the first swap it answers */
    while (db_goes_on(s)) {
        DB_SAMPLE(s, swap_once(lines));
        db_work(s->run);
    }
    unsigned over = atomic_fetch_add(&lines->over, 1) + 1;
    while (atomic_load(&lines->left) != over)
        swapped(&lines->ping, PONG, PING);
    atomic_store(&lines->ping, PONG);
}

static void pong_by_swaps(struct lines *lines, unsigned stretch)
{
    do {
        for (int i = 0; i < ANSWERS; i++)
            while (!swapped(&lines->ping, PING, PONG))
                ;
    } while (atomic_load_explicit(&lines->over, memory_order_relaxed) == stretch);
    atomic_fetch_add(&lines->left, 1);
}

static void pong_by_writes(struct lines *lines, unsigned stretch)
{
    unsigned seen = atomic_load(&lines->pong);
    while (atomic_load_explicit(&lines->over, memory_order_relaxed) == stretch) {
        unsigned turn = atomic_load_explicit(&lines->ping, memory_order_acquire);
        if (turn != seen)
            atomic_store_explicit(&lines->pong, seen = turn, memory_order_release);
    }
}

static void run(struct db_sampler *s)
{
    struct pair *pair = (struct pair *)s->run->shared + s->place / 2;
    bool swaps = s->run->variant == CAS;
    if (s->run->variant == MESSAGE)
        (s->place % 2 ? answer_messages : send_messages)(s, pair);
    else if (s->place % 2)
        (swaps ? pong_by_swaps : pong_by_writes)(pair->lines, pair->stretch++);
    else if (swaps)
        ping_by_swaps(s, pair->lines);
    else
        ping_by_writes(s, pair);
}

const struct db_primitive db_primitive_line = {.name = "line",
                                               .variants = variants,
                                               .group = 2,
                                               .shared_bytes = shared_bytes,
                                               .create = create,
                                               .begin = begin,
                                               .run = run};
