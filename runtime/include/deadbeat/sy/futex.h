/* The two futex calls, on words shared between processes (hence without FUTEX_PRIVATE_FLAG). */
#ifndef DEADBEAT_SY_FUTEX_H
#define DEADBEAT_SY_FUTEX_H

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Sleeps while *word == value. May return for any reason: the caller looks again. */
static inline void db_futex_wait(_Atomic uint32_t *word, uint32_t value)
{
    (void)syscall(SYS_futex, word, FUTEX_WAIT, value, NULL, NULL, 0);
}

static inline void db_futex_wake(_Atomic uint32_t *word, int count)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE, count, NULL, NULL, 0);
}

#endif
