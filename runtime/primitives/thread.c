/*+++
 * summary = "From pthread_create to the new thread's first instruction, on its creator's CPU"
 +++*/
/* The creator waits for the thread to end before it makes the next: at most one lives. */
#include "deadbeat/primitive.h"

#include <pthread.h>

/* Memory is locked: of a stack of the usual size every page would be made. */
#define STACK_BYTES (128 * 1024)

static void *first(void *argument)
{
    *(int64_t *)argument = port_now_ns();
    return NULL;
}

static void run(struct db_sampler *s)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    while (db_goes_on(s)) {
        pthread_t thread;
        int64_t began_ns = 0, begin_ns = port_now_ns();
        if (pthread_create(&thread, &attributes, first, &began_ns)) {
            s->why = "a thread could not be made";
            break;
        }
        pthread_join(thread, NULL);
        db_sample(s, begin_ns, began_ns);
        s->last_ns = port_now_ns(); /* its end is no gap */
        db_work(s->run);
    }
    pthread_attr_destroy(&attributes);
}

const struct db_primitive db_primitive_thread = {.name = "thread", .run = run};
