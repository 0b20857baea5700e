/* Host-state probes: what tells a slow host from a contended task. */
#include "run.h"

#define YARDSTICK_LOOPS 11
#define YARDSTICK_TIMES 8000 /* the length that a loop's time is given for */
#define CLOCK_READS 1000
#define FASTEST_OF 20
/* A reading is off by up to a step of the clock: an Arm system counter has 18 to 1,000 ns. */
#define WITNESS_STEPS 50
#define WITNESS_LEAST_NS INT64_C(1000)
#define WITNESS_MOST_NS INT64_C(20000)
#define YARDSTICK_STEPS 1000
#define YARDSTICK_LEAST_NS INT64_C(10000)
#define YARDSTICK_MOST_NS INT64_C(200000)

static int yardstick_times = YARDSTICK_TIMES;
/* What YARDSTICK_TIMES take when nobody disturbs them. */
static int64_t fastest_ns = 10000;
static int witness_times = YARDSTICK_TIMES / 8;

/* Four independent chains keep the multiplier busy: throughput-bound, no memory, about 10 to 40 us. */
static inline uint64_t multiply(uint64_t x, int times)
{
    uint64_t a = x, b = x + 1, c = x + 2, d = x + 3;
    for (int i = 0; i < times; i++) {
        a = a * UINT64_C(6364136223846793005) + 1;
        b = b * UINT64_C(6364136223846793005) + 3;
        c = c * UINT64_C(6364136223846793005) + 5;
        d = d * UINT64_C(6364136223846793005) + 7;
        __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
    }
    return a ^ b ^ c ^ d;
}

static uint64_t yardstick_loop(uint64_t x)
{
    return multiply(x, yardstick_times);
}

/* The smallest difference of two successive reads: the clock's step, or what a read costs where that is more.
 */
static int64_t clock_step_ns(void)
{
    int64_t least = INT64_MAX, last = port_now_ns();
    for (int i = 0; i < CLOCK_READS; i++) {
        int64_t now = port_now_ns();
        least = now > last && now - last < least ? now - last : least;
        last = now;
    }
    return least < INT64_MAX ? least : WITNESS_MOST_NS;
}

static int64_t between(int64_t least, int64_t value, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

void probes_fit_clock(void)
{
    int64_t step = clock_step_ns(), fastest = INT64_MAX;
    for (int i = 0; i < FASTEST_OF; i++) {
        int64_t took = yardstick_block_ns(1) * YARDSTICK_TIMES / yardstick_times;
        fastest = took > 0 && took < fastest ? took : fastest;
    }
    int64_t loop = between(YARDSTICK_LEAST_NS, step * YARDSTICK_STEPS, YARDSTICK_MOST_NS);
    int64_t witness = between(WITNESS_LEAST_NS, step * WITNESS_STEPS, WITNESS_MOST_NS);
    yardstick_times = (int)between(YARDSTICK_TIMES, loop * YARDSTICK_TIMES / fastest, INT32_MAX);
    witness_times = (int)between(1, witness * YARDSTICK_TIMES / fastest, INT32_MAX);
    fastest_ns = fastest;
}

void compute_for(int64_t ns)
{
    uint64_t x = (uint64_t)ns;
    for (int64_t left = ns * YARDSTICK_TIMES / fastest_ns; left > 0; left -= YARDSTICK_TIMES)
        x = multiply(x, (int)between(1, left, YARDSTICK_TIMES));
    db_keep(&x);
}

int64_t witness_ns(void)
{
    int64_t start = port_now_ns();
    uint64_t x = multiply((uint64_t)start, witness_times);
    int64_t took = port_now_ns() - start;
    db_keep(&x);
    return took;
}

static void insert(int64_t *sorted, int count, int64_t value)
{
    int i = count;
    for (; i > 0 && sorted[i - 1] > value; i--)
        sorted[i] = sorted[i - 1];
    sorted[i] = value;
}

/* The median of a few: an interrupt lengthens one of them, a busy sibling of the core most; the
 * fastest would overlook a sibling that pauses for 10 us. */
uint64_t yardstick_ps(int loops)
{
    int64_t sorted[YARDSTICK_LOOPS];
    uint64_t x = 1;
    loops = loops < YARDSTICK_LOOPS ? loops : YARDSTICK_LOOPS;
    for (int i = 0; i < loops; i++) {
        int64_t start = port_now_ns();
        x = yardstick_loop(x);
        insert(sorted, i, port_now_ns() - start);
    }
    db_keep(&x);
    return (uint64_t)sorted[loops / 2] * 1000 * YARDSTICK_TIMES / (uint64_t)yardstick_times;
}

int64_t yardstick_block_ns(int loops)
{
    uint64_t x = 1;
    int64_t start = port_now_ns();
    for (int i = 0; i < loops; i++)
        x = yardstick_loop(x);
    db_keep(&x);
    return port_now_ns() - start;
}

/* A batch is so long that a step of the clock is at most 1 % of it. */
int64_t clock_cost_ps(void)
{
    int64_t best = INT64_MAX, least = 100 * clock_step_ns();
    for (int batch = 0; batch < 20; batch++) {
        int64_t start = port_now_ns(), took, reads = 0;
        do {
            took = port_now_ns() - start;
            reads++;
        } while (reads < 100 || took < least);
        best = took * 1000 / reads < best ? took * 1000 / reads : best;
    }
    return best;
}

#define PING_ROUNDS 64
#define PING_BATCHES 5
#define PING_TRIPS (1 + PING_ROUNDS * PING_BATCHES)
#define PING_VALUES (2u * PING_TRIPS)
#define PING_BOUND_NS (20 * DB_MILLISECOND)

static bool await_ball(atomic_uint *ball, unsigned wanted, int64_t until)
{
    for (unsigned spins = 1; atomic_load_explicit(ball, memory_order_acquire) != wanted; spins++)
        if (spins % 1024 == 0 && port_now_ns() > until)
            return false;
    return true;
}

static bool go_and_return(atomic_uint *ball, unsigned *value, int64_t until)
{
    atomic_store_explicit(ball, ++*value, memory_order_release);
    return await_ball(ball, ++*value, until);
}

uint64_t ping_until(atomic_uint *ball, uint32_t turn, int64_t until)
{
    int64_t best = INT64_MAX, start = 0, now = 0;
    unsigned value = turn * PING_VALUES;
    /* the first trip lasts until the peer has come */
    bool there = go_and_return(ball, &value, until);
    for (int batch = 0; there && batch < PING_BATCHES && now < until; batch++) {
        start = port_now_ns();
        for (int i = 0; there && i < PING_ROUNDS; i++)
            there = go_and_return(ball, &value, until);
        now = port_now_ns();
        best = there && now - start < best ? now - start : best;
    }
    return best < INT64_MAX ? (uint64_t)best * 1000 / PING_ROUNDS : 0;
}

void pong_until(atomic_uint *ball, uint32_t turn, int64_t until)
{
    unsigned value = turn * PING_VALUES;
    for (int i = 0; i < PING_TRIPS && await_ball(ball, ++value, until); i++)
        atomic_store_explicit(ball, ++value, memory_order_release);
}

uint64_t ping(atomic_uint *ball)
{
    return ping_until(ball, 0, port_now_ns() + PING_BOUND_NS);
}

void pong(atomic_uint *ball)
{
    pong_until(ball, 0, port_now_ns() + PING_BOUND_NS);
}
