/*
 * Threads allocate, resize, check and free objects in random order; what an object holds is its own.
 * Prints which allocator served them, or aborts.
 */
#include "../../runtime/src/host/runtime.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 4
#define HELD 200
#define STEPS 50000

struct object {
    unsigned char *at;
    size_t bytes;
};

static void require(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

static void check(const struct object *object, unsigned char mark)
{
    for (size_t i = 0; i < object->bytes; i++)
        require(object->at[i] == mark, "an object holds what is not its own");
}

static void renew(struct object *object, unsigned *seed, unsigned char mark)
{
    size_t align = (size_t)64 << rand_r(seed) % 7;
    void *aligned = NULL;
    object->bytes = 1 + (size_t)rand_r(seed) % 20000;
    switch (rand_r(seed) % 4) {
    case 0:
        object->at = calloc(1, object->bytes);
        require(object->at, "calloc");
        check(object, 0);
        break;
    case 1:
        require(posix_memalign(&aligned, align, object->bytes) == 0, "posix_memalign");
        require((uintptr_t)aligned % align == 0, "an object is not aligned");
        object->at = aligned;
        break;
    case 2:
        object->at = realloc(object->at, object->bytes);
        break;
    default:
        object->at = malloc(object->bytes);
        break;
    }
    require(object->at, "malloc");
    require(object->bytes < 16 || (uintptr_t)object->at % 16 == 0, "an object is not aligned");
    memset(object->at, mark, object->bytes);
}

static void *churn(void *argument)
{
    static _Thread_local struct object held[HELD];
    unsigned seed = (unsigned)(uintptr_t)argument;
    for (int step = 0; step < STEPS; step++) {
        unsigned which = (unsigned)rand_r(&seed) % HELD;
        struct object *object = &held[which];
        if (!object->at) {
            renew(object, &seed, (unsigned char)which);
            continue;
        }
        check(object, (unsigned char)which);
        if (rand_r(&seed) % 3 == 0) {
            size_t bytes = 1 + (size_t)rand_r(&seed) % 70000;
            object->at = realloc(object->at, bytes);
            object->bytes = bytes < object->bytes ? bytes : object->bytes;
            check(object, (unsigned char)which);
            object->bytes = bytes;
            memset(object->at, (unsigned char)which, bytes);
        } else {
            free(object->at);
            *object = (struct object){0};
        }
    }
    for (int i = 0; i < HELD; i++)
        free(held[i].at);
    return NULL;
}

int main(void)
{
    void *(*volatile by_name)(size_t, size_t) = calloc;
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, churn, (void *)(i + 1));
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    require(!by_name(SIZE_MAX / 2, 4), "calloc gave what nobody has");
    unsigned char *volatile large = malloc((size_t)100 << 20);
    require(large, "a large object");
    large[((size_t)100 << 20) - 1] = 1;
    free(large);
    puts(allocator_name());
    return 0;
}
