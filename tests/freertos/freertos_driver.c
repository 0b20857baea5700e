/*
 * What deadbeat/port_core.h promises, tried on a FreeRTOS board; then the port's own costs, which are
 * handed over as numbers of 64 bits: round trip by port_wait(), by a semaphore, by a queue, ns; least and
 * most lateness of a sleep beside a busy task, ns; the clock's step, ns.
 */
#include "deadbeat/port_core.h"
#include "deadbeat/port_sync.h"

#include "board.h"

#include "FreeRTOS.h"
#include "task.h"

#include <string.h>

#define TURNS 1000
#define SLEEPS 500
#define PERIOD_NS 123457
#define HIGH 70
#define LOW 60

static atomic_uint ball;
static struct port_semaphore there, back;
static struct port_queue *out_queue, *in_queue;
static int64_t least = INT64_MAX, most;
static double sums[2];
static atomic_uint stop;

static void must(bool so, const char *what)
{
    if (!so)
        board_fail(what);
}

static void pass(unsigned from, unsigned to)
{
    while (atomic_load(&ball) != from)
        must(port_wait(&ball, to, -1) == 0, "a wait without end has ended");
    atomic_store(&ball, to);
    port_wake(&ball);
}

static void *ping_word(void *unused)
{
    for (int i = 0; i < TURNS; i++)
        pass(0, 1);
    return unused;
}

static void *pong_word(void *unused)
{
    for (int i = 0; i < TURNS; i++)
        pass(1, 0);
    return unused;
}

static void *ping_semaphore(void *unused)
{
    for (int i = 0; i < TURNS; i++)
        must(!port_semaphore_give(&there) && !port_semaphore_take(&back), "semaphore");
    return unused;
}

static void *pong_semaphore(void *unused)
{
    for (int i = 0; i < TURNS; i++)
        must(!port_semaphore_take(&there) && !port_semaphore_give(&back), "semaphore");
    return unused;
}

static void *ping_queue(void *unused)
{
    for (uint64_t i = 0, got = 0; i < TURNS; i++)
        must(!port_queue_send(out_queue, &i) && !port_queue_receive(in_queue, &got) && got == i, "queue");
    return unused;
}

static void *pong_queue(void *unused)
{
    for (uint64_t i = 0, got = 0; i < TURNS; i++)
        must(!port_queue_receive(out_queue, &got) && !port_queue_send(in_queue, &got), "queue");
    return unused;
}

/* Floating-point registers must survive a switch in the middle of a sum. */
static void *sleeper(void *unused)
{
    int64_t at = port_now_ns();
    for (int i = 0; i < SLEEPS; i++) {
        at += PERIOD_NS;
        port_sleep_until_ns(at);
        int64_t late = port_now_ns() - at;
        least = late < least ? late : least;
        most = late > most ? late : most;
        sums[0] += 1.5;
    }
    atomic_store(&stop, 1);
    return unused;
}

static void *spinner(void *unused)
{
    double sum = 0, step = 0.25;
    uint64_t turns = 0;
    while (!atomic_load(&stop)) {
        sum += step;
        turns++;
    }
    must(sum == (double)turns * step, "a floating-point sum changed when another task ran");
    sums[1] = sum;
    return unused;
}

/* Time of a turn, ns. */
static int64_t both(void *(*one)(void *), void *(*two)(void *), int one_priority, int two_priority)
{
    uint64_t first = 0, second = 0;
    int64_t began = port_now_ns();
    must(!port_start_thread(two, NULL, DB_POLICY_FIFO, two_priority, 0, &second) &&
             !port_start_thread(one, NULL, DB_POLICY_FIFO, one_priority, 0, &first),
         "a thread could not be started");
    must(!port_join_thread(first) && !port_join_thread(second), "join");
    return (port_now_ns() - began) / TURNS;
}

static void *placement(void *answer)
{
    int policy = -1, priority = -1, cpu = -1;
    must(port_get_placement(&policy, &priority, &cpu) == 0, "placement");
    *(int *)answer = policy == DB_POLICY_FIFO && cpu == 0 ? priority : -1;
    return NULL;
}

static void try_placement(int priority)
{
    uint64_t thread;
    int answer = -1;
    must(port_start_thread(placement, &answer, DB_POLICY_FIFO, priority, 1, &thread) != 0, "a second CPU");
    must(!port_start_thread(placement, &answer, DB_POLICY_FIFO, priority, 0, &thread), "start");
    must(!port_join_thread(thread) && answer == priority, "a priority was not read back as it was given");
}

static void *coordinate(void *unused)
{
    const size_t bytes = port_queue_bytes(4, sizeof(uint64_t));
    int64_t found[6], first = port_now_ns();
    for (int priority = DB_PRIORITY_TASK_LOW; priority <= DB_PRIORITY_CEILING; priority++)
        try_placement(priority);
    must(port_wait(&stop, 0, 3000000) == ETIMEDOUT && port_now_ns() >= first + 3000000, "a wait's bound");
    must(port_map((size_t)1 << 40, 0) == NULL, "memory that is not there");
    must(!port_semaphore_init(&there, 1) && !port_semaphore_init(&back, 1), "semaphore");
    must(!port_semaphore_take(&there) && !port_semaphore_take(&back), "semaphore");
    out_queue = port_map(bytes, 1);
    in_queue = port_map(bytes, 1);
    must(!port_queue_init(out_queue, 4, sizeof(uint64_t)), "queue");
    must(!port_queue_init(in_queue, 4, sizeof(uint64_t)), "queue");
    found[0] = both(ping_word, pong_word, HIGH, LOW);
    found[1] = both(ping_semaphore, pong_semaphore, HIGH, LOW);
    found[2] = both(ping_queue, pong_queue, HIGH, LOW);
    (void)both(sleeper, spinner, HIGH, LOW);
    found[3] = least;
    found[4] = most;
    int64_t now = port_now_ns();
    found[5] = port_now_ns() - now;
    must(port_put(found, sizeof found) == 0, "put");
    port_exit(0);
    return unused;
}

_Noreturn void port_main(void);
_Noreturn void port_main(void)
{
    uint64_t thread;
    size_t bytes;
    must(strcmp(board_job(&bytes), "measure") == 0 && bytes == 8, "the job's words");
    must(!port_start_thread(coordinate, NULL, DB_POLICY_FIFO, DB_PRIORITY_AGENT, 0, &thread), "start");
    vTaskStartScheduler();
    board_fail("the scheduler has ended");
}
