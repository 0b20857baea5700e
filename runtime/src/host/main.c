/*
 * The program: guardian first, then the coordinator it forks. Speaks a line protocol:
 *   stdin   "run INDEX PERIOD_PPM PATH", "quit"; end of file means quit
 *   stdout  "ready VERSION SETS", "bound INDEX NS" when a run begins, then "done INDEX MEASURED_NS" or
 *           "fail INDEX REASON", "error CODE TEXT"; with --causes 1, before a "done": "threads INDEX
 * NUMBER,NUMBER,...", the threads of the tasks in their order "guard" runs a foreign program (foreign.c),
 * "load" makes background loads (load.c), "init" is the first process of a virtual machine.
 * "once" runs one task set without the protocol, for a reader or for perf.
 */
#include "runtime.h"

#include <errno.h>
#include <stdio.h>
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

/* --- serving ----------------------------------------------------------------------------------------- */

int serve_sets(const struct options *options)
{
    char line[4200], path[4096], reason[DB_REASON_BYTES], text[DB_REASON_BYTES + 32];
    snprintf(text, sizeof text, "%u", db_task_set_count);
    say("ready", "2", text);
    while (fgets(line, sizeof line, stdin)) {
        unsigned index, ppm;
        uint64_t measured_ns = 0;
        if (sscanf(line, "run %u %u %4095[^\n]", &index, &ppm, path) != 3 || ppm == 0)
            break;
        if (index >= db_task_set_count) {
            snprintf(text, sizeof text, "%u no such task set in this program", index);
            say("fail", text, "");
            continue;
        }
        port_watch_stops();
        bool ok = run_set(index, ppm, options, path, reason, &measured_ns);
        guard_allow(-1);
        if (ok && port_stood(reason, sizeof reason))
            ok = false;
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
                                    {"once", run_once},
                                    {"instrument", measure_instrumentation},
                                    {"probe", measure_wake_ups},
                                    {"rounds", measure_rounds},
                                    {"unit", measure_unit},
                                    {"primitive", measure_primitive},
                                    {"interfere", measure_interference},
                                    {"price", measure_prices}};

/* Task sets have fixed bands of priorities, whose equals take no turns. */
static bool takes_policy(const struct verb *verb, const struct options *o)
{
    bool takes = o->policy != DB_POLICY_RR || verb->body == measure_primitive;
    if (!takes)
        fprintf(stderr, "--policy rr is for the verb primitive\n");
    return takes;
}

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
    /* where no policy above all priorities is to be had: nobody takes a CPU from an equal */
    int priority = (int)o->priority < DB_PRIORITY_HIGHEST ? (int)o->priority + 1 : DB_PRIORITY_HIGHEST;
    priority = priority > DB_PRIORITY_GUARDIAN ? priority : DB_PRIORITY_GUARDIAN;
    if (o->policy != DB_POLICY_OTHER && (error = port_stand_above(0, priority)) != 0) {
        say("error", "realtime-refused", strerror(error));
        return EXIT_REFUSED;
    }
    if (o->lock_memory && (error = port_lock_memory()) != 0 && o->policy != DB_POLICY_OTHER) {
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
    int error = o->policy != DB_POLICY_OTHER ? port_set_policy(DB_POLICY_FIFO, DB_PRIORITY_AGENT) : 0;
    port_lead_group();
    port_name_thread("db-main");
    port_allow_files();
    o->owner_pid = (int32_t)getpid();
    if (error) {
        say("error", "realtime-refused", strerror(error));
        return EXIT_REFUSED;
    }
    port_watch_stops();
    char why[DB_REASON_BYTES];
    int status = verb->body(o);
    return status == 0 && verb->body != serve_sets && port_stood(why, sizeof why) ? refuse_verb("stood", why)
                                                                                  : status;
}

static int guard(int coordinator)
{
    int status = 0;
    int error = port_guard(coordinator, &guard_bound, &status);
    if (error == 0)
        return status;
    port_kill_group(coordinator);
    port_reap(coordinator);
    say("error", "guardian",
        error == ETIMEDOUT ? "the bound of the run was exceeded; all was ended" : strerror(error));
    return EXIT_KILLED;
}

static const char usage[] =
    "usage: %s serve|calibrate|noise|try|instrument|probe|rounds|unit|primitive|interfere|price --cpus LIST "
    "[--key value ...]\n"
    "       %s once [--set INDEX] [--cpus LIST] [--seconds-ns NS] [--policy fifo|other] [--key value ...]\n";

int main(int count, char **words)
{
    struct options o = {
        .warmup = 1,
        .solo = true,
        .kinds = 1,
        .participants = 1,
        .sampling = {.batch = 1},
        .lock_memory = true,
        .policy = DB_POLICY_FIFO,
        .bound_ns = DB_LONGEST_NS,
        .rounds = {.real_time = 1, .pin = -1, .unit_ps = 1000000, .gap_ns = DB_MILLISECOND / 10},
        .inject = {.delay_task = -1, .delay_every = 1, .hog_core = -1, .move_task = -1, .fair_core = -1},
    };
    if (count > 1 && strcmp(words[1], "guard") == 0)
        return run_guarded(count - 2, words + 2);
    if (count > 1 && strcmp(words[1], "load") == 0)
        return run_load(count, words);
    if (count > 1 && strcmp(words[count - 1], "init") == 0) /* behind words that the kernel did not know */
        return port_first_process() == 0 ? 0 : EXIT_USAGE;
    const struct verb *verb = count > 1 ? find_verb(words[1]) : NULL;
    bool once = verb && verb->body == run_once;
    if (once)
        once_defaults(&o);
    if (!verb || db_tables_version != DB_TABLES_VERSION || !parse_options(&o, count - 2, words + 2) ||
        (once && !once_possible(&o)) || !takes_policy(verb, &o)) {
        fprintf(stderr, usage, words[0], words[0]);
        return EXIT_USAGE;
    }
    port_die_with(port_parent());
    guard_most_ns = o.bound_ns;
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
        port_on_end_asked(NULL, verb->body == measure_wake_ups ? coordinator : 0);
        status = coordinator < 0 ? 1 : guard(coordinator);
    } else if (once && status == EXIT_REFUSED) {
        fprintf(stderr, "without that permission: --policy other, which is not real-time\n");
    }
    return status;
}
