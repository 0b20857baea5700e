/*
 * guard --bound-ns NS [--lock 0|1] [--lock-wait-ns NS] [--until-eof 0|1] [--fifo PRIORITY] -- PROGRAM
 * [ARGUMENT...] Runs a foreign program so that it and all its descendants are gone when it ends, when the
 * bound passes, when this program is told to end, or when whoever started this program dies. Its exit status
 * is the program's (128 + number of a signal), or as timeout(1) has them. With --fifo all its threads are
 * real-time ones of that priority, unless they ask for another; the guard stays above.
 */
#include "runtime.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define EXIT_BOUND 124
#define EXIT_GUARD 125

struct words {
    int64_t bound_ns, lock, lock_wait_ns, until_eof, fifo;
};

static bool put_word(struct words *words, const char *key, const char *value)
{
    static const char *const keys[] = {"--bound-ns", "--lock", "--lock-wait-ns", "--until-eof", "--fifo"};
    int64_t *const places[] = {&words->bound_ns, &words->lock, &words->lock_wait_ns, &words->until_eof,
                               &words->fifo};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        char *end;
        if (strcmp(key, keys[i]) != 0)
            continue;
        errno = 0;
        *places[i] = strtoll(value, &end, 10);
        return errno == 0 && end != value && *end == '\0' && *places[i] >= 0 && *places[i] <= DB_LONGEST_NS;
    }
    return false;
}

/* Index of the program's own words; 0 where there are none. */
static int parse(struct words *words, int count, char **given)
{
    int i = 0;
    for (; i + 1 < count && strcmp(given[i], "--") != 0; i += 2)
        if (!put_word(words, given[i], given[i + 1])) {
            fprintf(stderr, "deadbeat guard: cannot use %s %s\n", given[i], given[i + 1]);
            return 0;
        }
    return i + 1 < count && words->bound_ns > 0 && words->fifo < DB_PRIORITY_CEILING ? i + 1 : 0;
}

int run_guarded(int count, char **given)
{
    struct words words = {.lock_wait_ns = 10000 * DB_MILLISECOND};
    int first = parse(&words, count, given), holder = 0, status = 0;
    if (!first) {
        fprintf(stderr, "usage: guard --bound-ns NS [--lock 0|1] [--lock-wait-ns NS] [--until-eof 0|1] "
                        "[--fifo PRIORITY] -- PROGRAM [ARGUMENT...]\n");
        return EXIT_GUARD;
    }
    port_die_with(port_parent());
    int error = words.lock ? port_machine_lock(words.lock_wait_ns, &holder) : 0;
    if (error == EBUSY) {
        fprintf(stderr, "error busy %d\n", holder);
        return EXIT_GUARD;
    }
    struct port_foreign foreign = {.argv = given + first,
                                   .bound_ns = words.bound_ns,
                                   .until_input_ends = words.until_eof != 0,
                                   .fifo_priority = (int)words.fifo};
    char why[DB_REASON_BYTES];
    port_watch_stops();
    error = error ? error : port_run_foreign(&foreign, &status);
    if (error == ETIMEDOUT) {
        fprintf(stderr, "deadbeat guard: the bound of %lld ms has passed; all was ended\n",
                (long long)(words.bound_ns / DB_MILLISECOND));
        return EXIT_BOUND;
    }
    if (error) {
        fprintf(stderr, "deadbeat guard: %s\n",
                error == EBUSY ? "a process cannot be ended, and is left" : strerror(error));
        return EXIT_GUARD;
    }
    if (port_stood(why, sizeof why)) {
        fprintf(stderr, "deadbeat guard: %s\n", why);
        return EXIT_GUARD;
    }
    return status;
}
