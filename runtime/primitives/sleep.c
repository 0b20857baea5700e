/*+++
 * summary = "How late a thread wakes up that slept until a given moment, every 200 us"
 * waits = true
 +++*/
#include "deadbeat/primitive.h"

#define PERIOD_NS 200000

static void run(struct db_sampler *s)
{
    int64_t period_ns = s->run->period_ns ? s->run->period_ns : PERIOD_NS;
    int64_t release_ns = port_now_ns();
    while (db_goes_on(s)) {
        release_ns += period_ns;
        port_sleep_until_ns(release_ns);
        int64_t now_ns = port_now_ns();
        s->last_ns = release_ns; /* to sleep is no gap */
        db_sample(s, release_ns, now_ns);
        while (release_ns + period_ns < now_ns) /* releases that were slept through */
            release_ns += period_ns;
        db_work(s->run);
    }
}

const struct db_primitive db_primitive_sleep = {.name = "sleep", .run = run};
