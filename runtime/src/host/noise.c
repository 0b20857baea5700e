/* The spin-gap floor: how much of its time each core really gives to a thread that only looks at the clock.
 */
#include "runtime.h"

#include <stdio.h>
#include <string.h>

#define BURST_NS (50 * DB_MILLISECOND)
/* Real-time bandwidth control takes 5 % away from threads that never sleep: rest well before. */
#define REST_NS (10 * DB_MILLISECOND)

static const int64_t limits_ns[] = {1000, 10000, 100000, 1000000, 10000000};
#define LIMITS (sizeof limits_ns / sizeof *limits_ns)

struct gaps {
    alignas(DB_CACHE_LINE) uint64_t above[LIMITS];
    int64_t spun_ns;
    int64_t lost_ns; /* in gaps over 10 us */
    int64_t longest_ns;
};

struct floor_run {
    struct rendezvous meeting;
    struct gaps gaps[DB_MAX_CORES];
};

static void spin_burst(struct gaps *gaps)
{
    int64_t start = port_now_ns(), last = start, now;
    do {
        now = port_now_ns();
        int64_t gap = now - last;
        last = now;
        for (size_t i = 0; i < LIMITS && gap > limits_ns[i]; i++)
            gaps->above[i]++;
        if (gap > limits_ns[1])
            gaps->lost_ns += gap;
        if (gap > gaps->longest_ns)
            gaps->longest_ns = gap;
    } while (now - start < BURST_NS);
    gaps->spun_ns += now - start;
}

static void spin_core(struct floor_run *run, const struct options *o, uint32_t core)
{
    if (place_agent(o, o->cpus[core], &run->meeting.failure, 4 * o->seconds_ns + 10000 * DB_MILLISECOND))
        for (int64_t end = port_now_ns() + o->seconds_ns; port_now_ns() < end;) {
            spin_burst(&run->gaps[core]);
            port_sleep_until_ns(port_now_ns() + REST_NS);
        }
    say_done(&run->meeting);
    port_exit(0);
}

static void print_gaps(const struct floor_run *run, const struct options *o, uint32_t core)
{
    const struct gaps *g = &run->gaps[core];
    printf("core %u cpu %d spun_ns %lld lost_ns %lld longest_ns %lld", core, o->cpus[core],
           (long long)g->spun_ns, (long long)g->lost_ns, (long long)g->longest_ns);
    for (size_t i = 0; i < LIMITS; i++)
        printf(" above_%lld_ns %llu", (long long)limits_ns[i], (unsigned long long)g->above[i]);
    printf("\n");
}

int measure_noise(const struct options *o)
{
    struct floor_run *run = port_map(sizeof *run, 1);
    int pids[DB_MAX_CORES] = {0};
    if (!run)
        return 1;
    guard_allow(3 * o->seconds_ns + 10000 * DB_MILLISECOND);
    for (uint32_t c = 0; c < o->cpu_count; c++)
        if ((pids[c] = port_fork()) == 0)
            spin_core(run, o, c);
    for (uint32_t c = 0; c < o->cpu_count; c++)
        port_reap(pids[c]);
    if (has_failed(&run->meeting.failure)) {
        printf("error noise %s\n", run->meeting.failure.reason);
        return 1;
    }
    printf("clock clock_cost_ps %lld\n", (long long)clock_cost_ps());
    for (uint32_t c = 0; c < o->cpu_count; c++)
        print_gaps(run, o, c);
    fflush(stdout);
    return 0;
}
