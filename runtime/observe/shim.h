/* What the calls of a program (shim_calls.c) need of the recording (shim.c). */
#ifndef DB_OBSERVE_SHIM_H
#define DB_OBSERVE_SHIM_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum kind {
    SWITCH = 1,
    RUNTIME = 3,
    SLEEP_TIMER = 4,
    ENTER = 6,
    EXIT = 7,
    END = 10,
    INIT = 32,
    WANT,
    GOT,
    UNLOCK,
    TAKE,
    POST,
    COND_WAIT,
    SIGNAL,
    BARRIER
};
enum lock { MUTEX, READER, WRITER, SPIN, C11 };

/* What became of a mutex that was to have inheritance (INIT, c << 25). */
enum change { AS_MADE, CHANGED, IS_SHARED, HAS_CEILING, IS_HELD, OTHER_LIBRARY, NOT_KEPT };

#define EXPORT __attribute__((visibility("default")))
#define CALLER ((intptr_t)__builtin_return_address(0))
#define AT(object) ((intptr_t)(object))

void *found(const char *name);

/* The function of this name that comes after ours: looked up when first called, as what a program calls is
 * there, and looking for what is not would need malloc. */
#define REAL(name)                                                                                           \
    (__extension__({                                                                                         \
        static void *at;                                                                                     \
        void *known = __atomic_load_n(&at, __ATOMIC_RELAXED);                                                \
        if (known == NULL)                                                                                   \
            __atomic_store_n(&at, known = found(#name), __ATOMIC_RELAXED);                                   \
        (__typeof__(name) *)known;                                                                           \
    }))

uint64_t now(void);
void put(uint64_t ns, enum kind kind, int64_t a, int64_t b, int64_t c);

/* As put, now, at an end of a section. */
void put_edge(enum kind kind, int64_t a, int64_t b, int64_t c);

#define PUT(...) put(now(), __VA_ARGS__)

/* Number of the thread that calls; 0: it may not be asked for. */
uint32_t own_tid(void);

/* The same of the thread that it was before a fork, whose locks it has; 0: none. */
uint32_t own_tid_before(void);

/* The folder to write into; NULL: the shim stays out. */
const char *wanted(void);

/* Before the program filters its calls: whether that is new. And where it then could not. */
bool will_filter(bool is_strict);
void filters_not(void);

/* Whether mutexes are to inherit. */
extern int inheritance;
enum { NOT_ASKED_YET, LEFT, GIVEN, CANNOT };
int ask_inheritance(void);

#define INHERITS() ((inheritance == NOT_ASKED_YET ? ask_inheritance() : inheritance) != LEFT)

/* Memory and timers as the environment asks: what was done, and errno. */
struct held {
    uint32_t what;
    int error;
};
enum { HEAP = 1, LOCKED = 2, SLACK = 4 };
struct held hold(void);

/* Gives a mutex inheritance before its first lock: what INIT says of it, 0: nothing new. */
int64_t inherit(pthread_mutex_t *lock);

/* Makes one that has it, unless the answer is another than CHANGED. */
enum change make_inheriting(pthread_mutex_t *lock, const pthread_mutexattr_t *how, int protocol, int shared);

/* Lets a thread unlock one that it did not lock, as it may where there is no owner. */
void take_over(pthread_mutex_t *lock);

/* The side of the CPU: before and after whatever may wait. */
struct stay {
    uint64_t ns, cpu_ns;
};

struct stay leave(void);

/* When it came back; 0: the kernel has events of that. */
uint64_t back(struct stay stay);

#endif
