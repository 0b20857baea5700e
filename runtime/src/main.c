/*
 * The program: guardian first, then the coordinator it forks. Speaks a line protocol:
 *   stdin   "run INDEX PATH", "quit"; end of file means quit
 *   stdout  "ready VERSION SETS", "done INDEX MEASURED_NS", "fail INDEX REASON", "error CODE TEXT"
 */
#include "runtime.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXIT_USAGE 2
#define EXIT_REFUSED 4 /* real-time permission */
#define EXIT_BUSY 5    /* another run has the machine */
#define EXIT_KILLED 6  /* the guardian ended it */

static void say(const char *kind, const char *what, const char *text)
{
    printf("%s %s %s\n", kind, what, text);
    fflush(stdout);
}

/* --- options ------------------------------------------------------------------------------------- */

static bool parse_cpus(struct options *o, const char *text)
{
    o->cpu_count = 0;
    for (char *end; *text; text = *end == ',' ? end + 1 : end) {
        long cpu = strtol(text, &end, 10);
        if (end == text || cpu < 0 || cpu > 4095 || o->cpu_count == DB_MAX_CORES || (*end && *end != ','))
            return false;
        o->cpus[o->cpu_count++] = (int)cpu;
    }
    return o->cpu_count > 0;
}

static bool parse_number(const char *text, int64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoll(text, &end, 10);
    return errno == 0 && end != text && *end == '\0';
}

/* References of the cores in order, ps. */
static bool parse_references(struct options *o, const char *text)
{
    char *end;
    for (uint32_t n = 0; *text; text = *end == ',' ? end + 1 : end, n++) {
        unsigned long long value = strtoull(text, &end, 10);
        if (end == text || n == DB_MAX_CORES || (*end && *end != ','))
            return false;
        o->quiet_ps[n] = value;
    }
    return true;
}

static bool parse_text_option(struct options *o, const char *key, const char *value)
{
    if (strcmp(key, "--cpus") == 0)
        return parse_cpus(o, value);
    if (strcmp(key, "--policy") == 0) {
        o->policy = strcmp(value, "fifo") == 0 ? DB_POLICY_FIFO : DB_POLICY_OTHER;
        return o->policy == DB_POLICY_FIFO || strcmp(value, "other") == 0;
    }
    if (strcmp(key, "--quiet-ps") == 0)
        return parse_references(o, value);
    if (strcmp(key, "--entries") == 0)
        return o->entries = value, true;
    if (strcmp(key, "--out") == 0)
        return o->out = value, true;
    return false;
}

static bool parse_option(struct options *o, const char *key, const char *value)
{
    int64_t n;
    if (parse_text_option(o, key, value))
        return true;
    if (!parse_number(value, &n))
        return false;
    if (strcmp(key, "--seconds-ns") == 0)
        o->seconds_ns = n;
    else if (strcmp(key, "--solo-ns") == 0)
        o->solo_ns = n;
    else if (strcmp(key, "--windows") == 0)
        o->windows = (uint32_t)n;
    else if (strcmp(key, "--warmup") == 0)
        o->warmup = (uint32_t)n;
    else if (strcmp(key, "--late") == 0)
        o->late = n != 0;
    else if (strcmp(key, "--split") == 0)
        o->split = n != 0;
    else if (strcmp(key, "--one-process") == 0)
        o->one_process = n != 0;
    else if (strcmp(key, "--tolerance-ppm") == 0)
        o->tolerance_ppm = (uint32_t)n;
    else if (strcmp(key, "--extra-windows") == 0)
        o->extra_windows = (uint32_t)n;
    else if (strcmp(key, "--wait-ns") == 0)
        o->wait_ns = n;
    else if (strcmp(key, "--lock-memory") == 0)
        o->lock_memory = n != 0;
    else if (strcmp(key, "--lock-wait-ns") == 0)
        o->lock_wait_ns = n;
    else if (strcmp(key, "--inject-ns") == 0)
        o->inject_ns = n;
    else if (strcmp(key, "--inject-task") == 0)
        o->inject_task = (int32_t)n;
    else if (strcmp(key, "--seed") == 0)
        o->seed = (uint64_t)n;
    else if (strcmp(key, "--cold") == 0)
        o->cold = n != 0;
    else if (strcmp(key, "--scrub-bytes") == 0)
        o->scrub_bytes = (size_t)n;
    else
        return false;
    return n >= 0 || strcmp(key, "--inject-task") == 0;
}

static bool parse(struct options *o, int count, char **words)
{
    for (int i = 0; i + 1 < count; i += 2)
        if (!parse_option(o, words[i], words[i + 1])) {
            fprintf(stderr, "cannot use %s %s\n", words[i], words[i + 1]);
            return false;
        }
    return count % 2 == 0 && o->cpu_count > 0 && o->windows >= 1 && o->windows <= 1000 &&
           o->extra_windows <= 1000;
}

/* --- serving ----------------------------------------------------------------------------------------- */

int serve_sets(const struct options *options)
{
    char line[4200], path[4096], reason[DB_REASON_BYTES], text[DB_REASON_BYTES + 32];
    snprintf(text, sizeof text, "%u", db_task_set_count);
    say("ready", "1", text);
    while (fgets(line, sizeof line, stdin)) {
        unsigned index;
        uint64_t measured_ns = 0;
        if (sscanf(line, "run %u %4095[^\n]", &index, path) != 2)
            break;
        if (index >= db_task_set_count) {
            snprintf(text, sizeof text, "%u no such task set in this program", index);
            say("fail", text, "");
            continue;
        }
        bool ok = run_set(db_task_sets[index], options, path, reason, &measured_ns);
        guard_allow(-1);
        if (ok)
            printf("done %u %llu\n", index, (unsigned long long)measured_ns);
        else
            printf("fail %u %s\n", index, reason);
        fflush(stdout);
    }
    return 0;
}

/* --- the guardian ------------------------------------------------------------------------------------- */

struct verb {
    const char *name;
    int (*body)(const struct options *options);
};

static const struct verb verbs[] = {{"serve", serve_sets},
                                    {"calibrate", calibrate},
                                    {"noise", measure_noise},
                                    {"try", try_fragments},
                                    {"instrument", measure_instrumentation}};

static const struct verb *find_verb(const char *name)
{
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(verbs[i].name, name) == 0)
            return &verbs[i];
    return NULL;
}

static int prepare_machine(struct options *o)
{
    char text[64];
    int holder = 0, error = port_machine_lock(o->lock_wait_ns, &holder);
    if (error) {
        snprintf(text, sizeof text, "%d", holder);
        say("error", error == EBUSY ? "busy" : "lock", error == EBUSY ? text : strerror(error));
        return EXIT_BUSY;
    }
    if (o->policy == DB_POLICY_FIFO && (error = port_set_policy(DB_POLICY_FIFO, DB_PRIORITY_GUARDIAN)) != 0) {
        say("error", "realtime-refused", strerror(error));
        return EXIT_REFUSED;
    }
    if (o->lock_memory && (error = port_lock_memory()) != 0 && o->policy == DB_POLICY_FIFO) {
        say("error", "memory-lock-refused", strerror(error));
        return EXIT_REFUSED;
    }
    o->memory_locked = o->lock_memory && error == 0;
    o->lock_memory = o->memory_locked;
    o->private_ipc = port_private_ipc() == 0;
    return 0;
}

static int coordinate(const struct verb *verb, struct options *o)
{
    int error = o->policy == DB_POLICY_FIFO ? port_set_policy(DB_POLICY_FIFO, DB_PRIORITY_AGENT) : 0;
    port_lead_group();
    o->owner_pid = (int32_t)getpid();
    if (error) {
        say("error", "realtime-refused", strerror(error));
        return EXIT_REFUSED;
    }
    return verb->body(o);
}

static int guard(int coordinator)
{
    int status = 0;
    int error = port_guard(coordinator, guard_bound, &status);
    if (error == 0)
        return status;
    port_kill_group(coordinator);
    port_reap(coordinator);
    say("error", "guardian",
        error == ETIMEDOUT ? "the bound of the run was exceeded; all was ended" : strerror(error));
    return EXIT_KILLED;
}

int main(int count, char **words)
{
    struct options o = {
        .windows = 2, .warmup = 1, .lock_memory = true, .inject_task = -1, .policy = DB_POLICY_FIFO};
    const struct verb *verb = count > 1 ? find_verb(words[1]) : NULL;
    if (!verb || db_tables_version != DB_TABLES_VERSION || !parse(&o, count - 2, words + 2)) {
        fprintf(stderr, "usage: %s serve|calibrate|noise|try|instrument --cpus LIST [--key value ...]\n",
                words[0]);
        return EXIT_USAGE;
    }
    port_die_with(port_parent());
    int error = port_bound_open(&guard_bound);
    if (error) {
        say("error", "setup", strerror(error));
        return 1;
    }
    int status = prepare_machine(&o);
    if (status == 0) {
        int coordinator = port_fork();
        if (coordinator == 0)
            port_exit(coordinate(verb, &o));
        status = coordinator < 0 ? 1 : guard(coordinator);
    }
    return status;
}
