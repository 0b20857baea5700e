/*
 * load [--taskset CPUS] --KIND WORKERS [--KIND-OPTION AMOUNT] ... [--temp-path FOLDER] [--quiet] [--ops N]
 *      [--metrics]
 * Makes background loads, with the words that stress-ng has for the same. Each worker is an ordinary process
 * called db-load-KIND, on the CPUs of --taskset. All end with this one; this one ends when one of them fails,
 * or when all have done N operations, and then --metrics prints a line "KIND WORKERS OPERATIONS" for each
 * kind.
 */
#include "load_kinds.h"

#include "runtime.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define EXIT_USAGE 2
#define MAX_KINDS 32
#define MAX_WORKERS 4096

static const struct db_load_kind portable[] = {
    {"cpu", "--cpu-load", 100, 0, 100, load_cpu},
    {"vm", "--vm-bytes", INT64_C(256) << 20, 4096, INT64_C(1) << 40, load_vm},
    {"stream", NULL, 0, 0, 0, load_stream},
    {"futex", NULL, 0, 0, 0, load_futex},
    {"fork", NULL, 0, 0, 0, load_fork},
};
#define PORTABLE (sizeof portable / sizeof *portable)

struct asked {
    int cpus[DB_MAX_CORES];
    uint32_t cpu_count; /* 0: all */
    char folder[PATH_MAX];
    uint64_t operations;
    bool metrics;
    uint32_t workers[MAX_KINDS];
    int64_t amounts[MAX_KINDS];
};

static uint32_t kind_count(void)
{
    return (uint32_t)PORTABLE + port_load_kind_count;
}

static const struct db_load_kind *kind_at(uint32_t i)
{
    return i < PORTABLE ? &portable[i] : &port_load_kinds[i - PORTABLE];
}

/* --- words --------------------------------------------------------------------------------------------- */

/* A whole number, perhaps with k, m or g behind it, which mean powers of 1024. */
static bool parse_amount(const char *text, int64_t least, int64_t most, int64_t *value)
{
    static const char units[] = "kmg";
    char *end;
    errno = 0;
    int64_t number = strtoll(text, &end, 10);
    const char *unit = *end ? strchr(units, *end | 0x20) : NULL;
    int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    if (errno || end == text || end[unit != NULL] || number < 0 || number > (INT64_MAX >> shift))
        return false;
    *value = number << shift;
    return *value >= least && *value <= most;
}

static bool parse_of_kind(struct asked *asked, const char *key, const char *value)
{
    for (uint32_t i = 0; i < kind_count(); i++) {
        const struct db_load_kind *kind = kind_at(i);
        int64_t number;
        if (strcmp(key + 2, kind->name) == 0 && parse_amount(value, 0, MAX_WORKERS, &number))
            return asked->workers[i] = (uint32_t)number, true;
        if (kind->option && strcmp(key, kind->option) == 0)
            return parse_amount(value, kind->least, kind->greatest, &asked->amounts[i]);
    }
    return false;
}

static bool parse_word(struct asked *asked, const char *key, const char *value)
{
    int64_t number = 0;
    if (strcmp(key, "--taskset") == 0)
        return parse_cpus(asked->cpus, &asked->cpu_count, value);
    if (strcmp(key, "--temp-path") == 0)
        return (size_t)snprintf(asked->folder, sizeof asked->folder, "%s", value) < sizeof asked->folder;
    if (strcmp(key, "--ops") == 0) {
        bool known = parse_amount(value, 1, INT64_MAX, &number);
        asked->operations = (uint64_t)number;
        return known;
    }
    return strncmp(key, "--", 2) == 0 && parse_of_kind(asked, key, value);
}

/* False after saying why. */
static bool parse(struct asked *asked, int count, char **words)
{
    uint32_t workers = 0;
    for (uint32_t i = 0; i < kind_count(); i++)
        asked->amounts[i] = kind_at(i)->usual;
    for (int i = 0; i < count; i++) {
        if (strcmp(words[i], "--quiet") == 0) /* it says nothing anyway */
            continue;
        if (strcmp(words[i], "--metrics") == 0) {
            asked->metrics = true;
            continue;
        }
        if (i + 1 >= count || !parse_word(asked, words[i], words[i + 1])) {
            fprintf(stderr, "deadbeat load: cannot use %s %s\n", words[i], i + 1 < count ? words[i + 1] : "");
            return false;
        }
        i++;
    }
    for (uint32_t i = 0; i < kind_count(); i++)
        workers += asked->workers[i];
    if (workers == 0 || workers > MAX_WORKERS)
        fprintf(stderr, "deadbeat load: %u workers: between 1 and %d\n", workers, MAX_WORKERS);
    return workers > 0 && workers <= MAX_WORKERS;
}

/* --- processes ------------------------------------------------------------------------------------------ */

/* What a list of processes shows of the caller: `title` alone, in the place of its words. */
static void retitle(char **words, int count, const char *title)
{
    size_t bytes = (size_t)(words[count - 1] + strlen(words[count - 1]) - words[0]);
    memset(words[0], 0, bytes);
    memcpy(words[0], title, strlen(title) < bytes ? strlen(title) : bytes);
}

static int work(const struct asked *asked, const struct db_load_kind *kind, struct db_load *load)
{
    int error = port_set_policy(DB_POLICY_OTHER, 0);
    port_give_way();
    if (!error && asked->cpu_count)
        error =
            db_load_fails(load, "using the CPUs of --taskset", port_set_cpus(asked->cpus, asked->cpu_count));
    error = error ? error : kind->work(load);
    if (error)
        fprintf(stderr, "deadbeat load: %s: %s: %s\n", kind->name, load->doing ? load->doing : "working",
                strerror(error));
    return error != 0;
}

static bool start(const struct asked *asked, uint32_t which, volatile uint64_t *done, char **words, int count)
{
    const struct db_load_kind *kind = kind_at(which);
    for (uint32_t i = 0; i < asked->workers[which]; i++) {
        struct db_load load = {.amount = asked->amounts[which],
                               .index = i,
                               .workers = asked->workers[which],
                               .most = asked->operations,
                               .done = &done[i],
                               .folder = asked->folder};
        int pid = port_fork();
        if (pid == 0) {
            char title[32];
            snprintf(title, sizeof title, "db-load-%s", kind->name);
            port_name_thread(title);
            retitle(words, count, title);
            port_exit(work(asked, kind, &load));
        }
        if (pid < 0) {
            fprintf(stderr, "deadbeat load: %s: starting a worker: %s\n", kind->name, strerror(errno));
            return false;
        }
    }
    return true;
}

/* Until all have ended, or one of them has failed or was killed. */
static bool await_workers(uint32_t workers)
{
    for (; workers > 0; workers--) {
        int status = port_reap(-1);
        if (status >= 256)
            fprintf(stderr, "deadbeat load: a worker was killed by signal %d\n", status - 256);
        if (status != 0)
            return false;
    }
    return true;
}

static void print_metrics(const struct asked *asked, const volatile uint64_t *done)
{
    for (uint32_t i = 0; i < kind_count(); i++) {
        uint64_t sum = 0;
        for (uint32_t j = 0; j < asked->workers[i]; j++)
            sum += *done++;
        if (asked->workers[i])
            printf("%s %u %llu\n", kind_at(i)->name, asked->workers[i], (unsigned long long)sum);
    }
}

int run_load(int count, char **words)
{
    static struct asked asked = {.folder = "."};
    volatile uint64_t *done = port_map(MAX_WORKERS * sizeof *done, 1);
    uint32_t workers = 0;
    if (kind_count() > MAX_KINDS || !done || !parse(&asked, count - 2, words + 2))
        return EXIT_USAGE;
    port_die_with(port_parent());
    port_name_thread("db-load");
    for (uint32_t i = 0; i < kind_count(); i++) {
        if (!start(&asked, i, done + workers, words, count))
            return 1; /* what has been started ends with us */
        workers += asked.workers[i];
    }
    if (!await_workers(workers))
        return 1;
    if (asked.metrics)
        print_metrics(&asked, done);
    return 0;
}
