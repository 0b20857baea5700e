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
extern bool tlsf_holds(const void *object) __attribute__((weak)); /* runtime/allocators/tlsf */
extern bool tuned_malloc(void) __attribute__((weak));             /* runtime/allocators/tuned.c */

#define OBJECT_BYTES 1000

/* Not known to the compiler: it would leave both calls out. */
static void *(*volatile by_name)(size_t) = malloc;

static uint64_t allocated_by_jemalloc(void)
{
    uint64_t bytes = 0;
    size_t length = sizeof bytes;
    return mallctl("thread.allocated", &bytes, &length, NULL, 0) == 0 ? bytes : 0;
}

static bool jemalloc_gives(void)
{
    uint64_t before = allocated_by_jemalloc();
    void *object = by_name(OBJECT_BYTES);
    bool given = allocated_by_jemalloc() - before >= OBJECT_BYTES;
    free(object);
    return given;
}

/* Whether what malloc gives is one of its objects. */
static bool gives(bool (*holds)(const void *))
{
    void *object = by_name(OBJECT_BYTES);
    bool given = holds(object);
    free(object);
    return given;
}

const char *allocator_name(void)
{
    if (mallctl && jemalloc_gives())
        return "jemalloc";
    if (tc_malloc && by_name == tc_malloc)
        return "tcmalloc";
    if (mi_is_in_heap_region && gives(mi_is_in_heap_region))
        return "mimalloc";
    if (tlsf_holds && gives(tlsf_holds))
        return "tlsf";
    if (tuned_malloc && tuned_malloc())
        return "tuned";
    return "libc";
}
