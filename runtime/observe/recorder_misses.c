/* Jobs of watched threads, by two events each: a job begins as the thread is woken at its site, and ends as
 * it calls there again. */
#include "recorder.h"

#include "keep.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define TIMER_NS 100000 /* from a timer to the wake-up: more is late */

enum { FIRST_OCTAVE = 12, LAST_OCTAVE = 34 }; /* bounds of a collector's buckets: 4 us to 17 s */

struct watched {
    uint32_t tid;
    uint64_t period, deadline;
    int64_t call, mask[2], value[2];
    uint64_t entered, release, last; /* its call, what it was woken by since, the release before; 0: none */
    struct tally *tally;
};

struct state *state;
struct missed missed;
static struct watched watched[WATCHED_MOST];
static unsigned watched_count;

int open_state(const char *path)
{
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0)
        return -1;
    errno = posix_fallocate(file, 0, sizeof *state); /* no hole: a full disk would end us later */
    void *at = errno ? MAP_FAILED : mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    int why = errno;
    close(file);
    errno = why;
    if (at == MAP_FAILED)
        return -1;
    state = at;
    memcpy(state->magic, "DBKEPT1", sizeof state->magic);
    return 0;
}

bool know_watched(const char *line)
{
    struct watched *made = &watched[watched_count];
    char name[NAME_BYTES] = "";
    if (watched_count == WATCHED_MOST ||
        sscanf(line,
               "%u %" SCNu64 " %" SCNu64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64
               " %63[^\n]",
               &made->tid, &made->period, &made->deadline, &made->call, &made->mask[0], &made->value[0],
               &made->mask[1], &made->value[1], name) != 9)
        return false;
    uint64_t place = 0;
    while (place < state->threads && strcmp(state->thread[place].name, name) != 0)
        place++;
    if (place == WATCHED_MOST)
        return false;
    made->tally = &state->thread[place];
    memcpy(made->tally->name, name, sizeof name);
    made->tally->deadline_ns = made->deadline;
    state->threads += place == state->threads;
    watched_count++;
    return true;
}

bool watch_filter(char *text, size_t bytes, const char *field, int64_t call)
{
    size_t length = 0;
    *text = 0;
    for (unsigned i = 0; i < watched_count && length < bytes; i++)
        if (call < 0 ? strcmp(field, "pid") == 0 || watched[i].call < 0 : watched[i].call == call)
            length += (size_t)snprintf(text + length, bytes - length, "%s%s == %u", length ? " || " : "",
                                       field, watched[i].tid);
    return length > 0 && length < bytes;
}

static unsigned bucket_of(uint64_t ns)
{
    unsigned bits = ns ? 64 - (unsigned)__builtin_clzll(ns) : 0,
             shift = bits > SUB_BITS + 1 ? bits - SUB_BITS - 1 : 0;
    uint64_t bucket = ((uint64_t)shift << SUB_BITS) + (ns >> shift);
    return bucket < BUCKETS ? (unsigned)bucket : BUCKETS - 1;
}

static void count_job(struct watched *thread, uint64_t release, uint64_t end)
{
    struct tally *tally = thread->tally;
    uint64_t response = end > release ? end - release : 0;
    tally->jobs++;
    tally->sum_ns += response;
    tally->bucket[bucket_of(response)]++;
    if (response > tally->worst_ns)
        tally->worst_ns = response;
    if (!thread->deadline || response <= thread->deadline)
        return;
    tally->misses++;
    if (!missed.count++ || release < missed.release)
        missed.release = release;
    missed.end = end;
}

/* It comes to its site: what it did since it was released there was a job. */
static void end_job(struct watched *thread, uint64_t ns)
{
    uint64_t release = thread->release, next = thread->last + thread->period;
    if (!release && thread->entered &&
        thread->call >= 0) /* it did not wait: it was late, or something was there */
        release = thread->period && thread->last && next < thread->entered ? next : thread->entered;
    thread->last = release;
    if (release)
        count_job(thread, release, ns);
    if (thread->call < 0 && thread->period) /* those that nothing separates */
        for (uint64_t more = release + thread->period; release && more < ns; more += thread->period)
            count_job(thread, more, ns);
    thread->entered = ns;
    thread->release = 0;
}

/* When what woke it was due, by the grid of its sleeps: who is late is woken at once, and who sleeps until
 * then off the grid is so by a late timer. */
static uint64_t released(const struct watched *thread, uint64_t ns)
{
    uint64_t next = thread->last + thread->period;
    if (!thread->period || !thread->last || thread->call < 0 || ns < next)
        return ns;
    if (next < thread->entered) /* or it leaves out what it missed, and sleeps */
        return ns - thread->entered < TIMER_NS / 2 ? next : ns;
    uint64_t off = (ns - next) % thread->period;
    return off > TIMER_NS && off + TIMER_NS < thread->period ? next : ns; /* the one before may be off, too */
}

int count_jobs(const struct record *records, size_t count)
{
    for (const struct record *record = records; record < records + count; record++) {
        if (record->kind == LOST) {
            state->lost += (uint64_t)record->a;
            for (unsigned i = 0; i < watched_count; i++)
                watched[i].entered = watched[i].release = watched[i].last = 0;
            continue;
        }
        struct watched *thread = watched;
        while (thread < watched + watched_count && thread->tid != record->tid)
            thread++;
        if (thread == watched + watched_count)
            continue;
        if (record->kind == WAKING && thread->entered && !thread->release)
            thread->release = released(thread, record->ns);
        else if ((record->kind == ENTER && record->a == thread->call &&
                  (record->b & thread->mask[0]) == thread->value[0] &&
                  (record->c & thread->mask[1]) == thread->value[1]) ||
                 (record->kind == SWITCH && thread->call < 0 && record->b & 0xFF))
            end_job(thread, record->ns);
    }
    return 0;
}

bool is_in_progress(uint64_t since)
{
    for (unsigned i = 0; i < watched_count; i++)
        if (watched[i].deadline && watched[i].release && watched[i].release < since)
            return true;
    return false;
}

/* -- for a collector */

/* A value of a label. */
static void label(FILE *to, const char *text)
{
    for (; *text; text++)
        fprintf(to, *text == '\\' || *text == '"' ? "\\%c" : "%c", *text);
}

static void sample(FILE *to, const char *name, const char *process, const char *thread, double value)
{
    fprintf(to, "deadbeat_%s{process=\"", name);
    label(to, process);
    if (thread) {
        fputs("\",thread=\"", to);
        label(to, thread);
    }
    fprintf(to, "\"} %.15g\n", value);
}

static void family(FILE *to, const char *name, const char *type, const char *help)
{
    fprintf(to, "# HELP deadbeat_%s %s\n# TYPE deadbeat_%s %s\n", name, help, name, type);
}

static void write_histogram(FILE *to, const char *process, const struct tally *tally)
{
    uint64_t sum = 0;
    unsigned bucket = 0;
    for (unsigned octave = FIRST_OCTAVE; octave <= LAST_OCTAVE + 1; octave++) {
        for (; bucket < BUCKETS && (octave > LAST_OCTAVE || bucket < bucket_of(UINT64_C(1) << octave));
             bucket++)
            sum += tally->bucket[bucket];
        fputs("deadbeat_response_seconds_bucket{process=\"", to);
        label(to, process);
        fputs("\",thread=\"", to);
        label(to, tally->name);
        if (octave > LAST_OCTAVE)
            fprintf(to, "\",le=\"+Inf\"} %" PRIu64 "\n", sum);
        else
            fprintf(to, "\",le=\"%.12g\"} %" PRIu64 "\n", (double)(UINT64_C(1) << octave) / 1e9, sum);
    }
    sample(to, "response_seconds_sum", process, tally->name, (double)tally->sum_ns / 1e9);
    sample(to, "response_seconds_count", process, tally->name, (double)sum);
}

int write_metrics(const char *path, const char *process, const char *more)
{
    char part[TEXT_BYTES];
    snprintf(part, sizeof part, "%s.part", path);
    FILE *to = fopen(part, "we"), *causes = fopen(more, "re");
    if (to) {
        family(to, "response_seconds", "histogram", "Response times of jobs.");
        for (uint64_t i = 0; i < state->threads; i++)
            write_histogram(to, process, &state->thread[i]);
        family(to, "deadline_misses_total", "counter", "Jobs that ended after their deadline.");
        for (uint64_t i = 0; i < state->threads; i++)
            sample(to, "deadline_misses_total", process, state->thread[i].name,
                   (double)state->thread[i].misses);
        family(to, "windows_kept_total", "counter", "Misses, or some together, with what led to them.");
        sample(to, "windows_kept_total", process, NULL, (double)state->windows);
        family(to, "misses_only_counted_total", "counter", "Misses of which no window is kept.");
        sample(to, "misses_only_counted_total", process, NULL, (double)state->only_counted);
        family(to, "watched_seconds_total", "counter", "Time for which the process was watched.");
        sample(to, "watched_seconds_total", process, NULL, (double)state->watched_ns / 1e9);
        for (int c; causes && (c = getc(causes)) != EOF;)
            putc(c, to);
        fputs("# EOF\n", to);
    }
    if (causes)
        fclose(causes);
    bool good = to && !ferror(to);
    if (to && (fclose(to) != 0 || !good || rename(part, path) != 0)) {
        int why = errno;
        unlink(part);
        errno = why;
        return -1;
    }
    return good ? 0 : -1;
}
