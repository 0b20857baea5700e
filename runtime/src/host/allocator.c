/*
 * Whether malloc is the C library's own: an archive that is linked before it may have replaced it.
 */
#include "runtime.h"

#include <stdlib.h>

#ifdef __GLIBC__
extern void *__libc_malloc(size_t bytes) __attribute__((weak)); /* not linked where malloc is another's */
#endif

/* Not known to the compiler. */
static void *(*volatile by_name)(size_t) = malloc;

const char *allocator_name(void)
{
#ifdef __GLIBC__
    return by_name == __libc_malloc ? "libc" : "other";
#else
    return by_name == malloc ? "libc" : "other";
#endif
}
