/*
 * What a program may be given besides its locks, before main:
 * DEADBEAT_SHIM_MEMORY=heap    malloc gives no memory back, and takes none by mmap
 * DEADBEAT_SHIM_MEMORY=locked  that, and all memory is locked (mlockall): what is there, touched stack and
 *                              all that comes
 * DEADBEAT_SHIM_SLACK=NS       slack of the timers of its threads that are not real-time ones
 */
#include "shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { TRIM_THRESHOLD = -1, MMAP_MAX = -4 }; /* of glibc's malloc.h */
enum { STACK_BYTES = 256 << 10, PAGE_BYTES = 4096 };

/* It grows no more until it is as large. */
static __attribute__((noinline)) void touch_stack(void)
{
    volatile char stack[STACK_BYTES];
    for (size_t at = 0; at < sizeof stack; at += PAGE_BYTES)
        stack[at] = 0;
}

/* musl's malloc has no settings. */
static int keep_heap(void)
{
    int (*set)(int, int) = (int (*)(int, int))dlsym(RTLD_DEFAULT, "mallopt");
    if (set == NULL)
        return ENOSYS;
    return set(TRIM_THRESHOLD, -1) == 1 && set(MMAP_MAX, 0) == 1 ? 0 : EINVAL;
}

/* A limit would let calls fail later on. */
static int lock_memory(void)
{
    struct rlimit most;
    if (geteuid() != 0 && (getrlimit(RLIMIT_MEMLOCK, &most) != 0 || most.rlim_cur != RLIM_INFINITY))
        return EPERM;
    touch_stack();
    return mlockall(MCL_CURRENT | MCL_FUTURE) == 0 ? 0 : errno;
}

struct held hold(void)
{
    const char *memory = getenv("DEADBEAT_SHIM_MEMORY"), *slack = getenv("DEADBEAT_SHIM_SLACK");
    struct held held = {0};
    if (memory != NULL && *memory != '\0') {
        held.error = keep_heap();
        held.what |= held.error == 0 ? HEAP : 0;
        if (strcmp(memory, "locked") == 0) {
            held.error = lock_memory();
            held.what |= held.error == 0 ? LOCKED : 0;
        }
    }
    if (slack != NULL && *slack != '\0' && prctl(PR_SET_TIMERSLACK, strtoul(slack, NULL, 10)) == 0)
        held.what |= SLACK;
    return held;
}
