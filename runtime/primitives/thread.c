/*+++
 * summary = "From pthread_create to the new thread's first instruction, on its creator's CPU"
 * waits = true
 +++*/
/* The creator waits for the thread to end before it makes the next: at most one lives. */
#include "deadbeat/primitive.h"

#include <pthread.h>
#include <sched.h>

/* Memory is locked: of a stack of the usual size every page would be made. */
#define STACK_BYTES (128 * 1024)

struct birth {
    int64_t began_ns;
    int policy;
};

static int policy_now(void) /* musl's sched_getscheduler() always fails */
{
    struct sched_param parameter;
    int policy = -1;
    pthread_getschedparam(pthread_self(), &policy, &parameter);
    return policy;
}

static void *first(void *argument)
{
    struct birth *birth = argument;
    birth->began_ns = port_now_ns();
    birth->policy = policy_now();
    return NULL;
}

static void run(struct db_sampler *s)
{
    int policy = policy_now();
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    while (db_goes_on(s) && !s->why) {
        pthread_t thread;
        struct birth birth = {0};
        int64_t begin_ns = port_now_ns();
        if (pthread_create(&thread, &attributes, first, &birth)) {
            s->why = "a thread could not be made";
            break;
        }
        pthread_join(thread, NULL);
        if (birth.policy != policy)
            s->why = "a new thread has another policy than its creator";
        db_sample(s, begin_ns, birth.began_ns);
        s->last_ns = port_now_ns(); /* its end is no gap */
        db_work(s->run);
    }
    pthread_attr_destroy(&attributes);
}

const struct db_primitive db_primitive_thread = {.name = "thread", .run = run};
