/* Memory and waiting on Linux. */
#include "deadbeat/port_core.h"

#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void *port_map(size_t bytes, int shared)
{
    int flags = MAP_ANONYMOUS | MAP_POPULATE | (shared ? MAP_SHARED : MAP_PRIVATE);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void port_unmap(void *memory, size_t bytes)
{
    if (memory)
        munmap(memory, bytes);
}

int port_lock_memory(void)
{
    return mlockall(MCL_CURRENT | MCL_FUTURE) == 0 ? 0 : errno;
}

/* The C library's timespec is not always the kernel's: 32-bit machines have two calls, one for each. */
static long futex_wait(atomic_uint *word, unsigned seen, int64_t timeout_ns)
{
    bool endless = timeout_ns < 0;
#ifdef SYS_futex_time64
    int64_t wide[2] = {timeout_ns / 1000000000, timeout_ns % 1000000000};
    long result = syscall(SYS_futex_time64, word, FUTEX_WAIT, seen, endless ? NULL : wide, NULL, 0);
    if (result == 0 || errno != ENOSYS) /* before Linux 5.1 */
        return result;
#endif
    long narrow[2] = {(long)(timeout_ns / 1000000000), (long)(timeout_ns % 1000000000)};
    return syscall(SYS_futex, word, FUTEX_WAIT, seen, endless ? NULL : narrow, NULL, 0);
}

int port_wait(atomic_uint *word, unsigned seen, int64_t timeout_ns)
{
    return futex_wait(word, seen, timeout_ns) == 0 || errno == EAGAIN ? 0 : errno;
}

void port_wake(atomic_uint *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

void port_wake_one(atomic_uint *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

const char *port_error_text(int error)
{
    return strerror(error);
}
