/*
 * glibc's malloc as real-time programs set it: one arena, memory that was got once is kept, and nothing is
 * mapped for one object alone, however large.
 */
#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>

/* Above what is mapped for one object otherwise. */
#define LARGE_BYTES (64 << 20)

bool tuned_malloc(void);

__attribute__((constructor)) static void tune(void)
{
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, -1);
}

/* Whether it is: a large object has no mapping of its own. */
bool tuned_malloc(void)
{
    void *object = malloc(LARGE_BYTES);
    bool none = object && mallinfo2().hblks == 0;
    free(object);
    return none;
}
