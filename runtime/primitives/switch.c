/*+++
 * summary = "A context switch: from sched_yield in one thread to its return in another of equal priority"
 * group = 2
 * placements = ["same"]
 * equal = true
 +++*/
/* Both threads take samples. A yield that no other thread answered is none. */
#include "deadbeat/primitive.h"

#include <sched.h>

struct pair {
    int64_t left_ns;  /* before the last yield */
    uint32_t left_by; /* 1, 2; 0: nobody */
};

static size_t shared_bytes(const struct db_sampling *run)
{
    return run->threads / 2 * sizeof(struct pair);
}

static void run(struct db_sampler *s)
{
    volatile struct pair *pair = (struct pair *)s->run->shared + s->place / 2;
    uint32_t me = 1 + s->place % 2;
    pair->left_by = 0; /* what was left before is out of date */
    for (int64_t now = port_now_ns(); s->left && now < s->end_ns; now = port_now_ns()) {
        if (pair->left_by && pair->left_by != me) {
            s->last_ns = pair->left_ns; /* the other's turn is no gap */
            db_sample(s, pair->left_ns, now);
        }
        db_work(s->run);
        pair->left_by = me;
        pair->left_ns = port_now_ns();
        sched_yield();
    }
}

const struct db_primitive db_primitive_switch = {
    .name = "switch", .group = 2, .shared_bytes = shared_bytes, .run = run};
