/* The file of a process between the shim, which fills its chunks, and drain.c, which empties them. */
#ifndef DB_OBSERVE_CHUNKS_H
#define DB_OBSERVE_CHUNKS_H

#include <stdint.h>

enum { CHUNK = 4096, HEADER = 4 * CHUNK, CHUNKS_MOST = 16256 };

/* Of a chunk. A thread takes a free one, and gives it full; drain.c keeps what is in it and frees it. */
enum { NOT_THERE, FREE, TAKEN, FULL };

struct process {
    char magic[8];
    uint64_t lost;
    uint32_t pid, sleeps, chunks, next, filtered;
    int32_t call[7]; /* numbers of: clock_nanosleep, read, epoll_pwait, ppoll, sched_yield, futex,
                        sched_setscheduler */
    uint32_t held;   /* what of its memory and timers, as shim.h has it */
    int32_t held_error;
    char spare[56];
    uint8_t state[CHUNKS_MOST];
};
_Static_assert(sizeof(struct process) == HEADER, "chunks begin at a page");

struct record {
    uint64_t ns;
    uint32_t tid;
    uint16_t kind, cpu;
    int64_t a, b, c;
};

/* Before the records of a chunk. */
struct head {
    uint64_t process_ns, thread_ns; /* when they began */
    uint32_t pid, tid;
    uint32_t turn; /* it is the n-th one of the thread */
    uint32_t count, spare;
};
_Static_assert(sizeof(struct head) == sizeof(struct record), "as shim.py has it");

#endif
