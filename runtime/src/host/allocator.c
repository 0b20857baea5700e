/*
 * Which allocator this program was linked with. The symbols of each are there if it is; that malloc is its
 * own is seen by what it does.
 */
#include "runtime.h"

#include "deadbeat/fragment.h"

#include <stdlib.h>

extern int mallctl(const char *name, void *old, size_t *old_bytes, void *new, size_t new_bytes)
    __attribute__((weak));
extern void *tc_malloc(size_t bytes) __attribute__((weak));
extern bool mi_is_in_heap_region(const void *object) __attribute__((weak));

#define OBJECT_BYTES 1000

static uint64_t allocated_by_jemalloc(void)
{
    uint64_t bytes = 0;
    size_t length = sizeof bytes;
    return mallctl("thread.allocated", &bytes, &length, NULL, 0) == 0 ? bytes : 0;
}

const char *allocator_name(void)
{
    const char *name = "libc";
    void *(*volatile by_name)(size_t) = malloc;
    uint64_t before = mallctl ? allocated_by_jemalloc() : 0;
    void *object = by_name(OBJECT_BYTES);
    if (mallctl && allocated_by_jemalloc() - before >= OBJECT_BYTES)
        name = "jemalloc";
    if (tc_malloc && by_name == tc_malloc)
        name = "tcmalloc";
    if (mi_is_in_heap_region && mi_is_in_heap_region(object))
        name = "mimalloc";
    free(object);
    return name;
}
