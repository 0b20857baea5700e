/* The options of the program: --key value pairs. */
#include "runtime.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* An injected thread keeps a core for no longer at a time. */
#define MAX_HOG_NS (100 * DB_MILLISECOND)
#define MIN_HOG_PERIOD_NS (DB_MILLISECOND / 10)
#define MAX_DELAY_NS (10000 * DB_MILLISECOND)
#define MAX_WARMUP 1000000
/* Units of work, and their cost in ps: the product fits 64 bits. */
#define MAX_UNITS (INT64_C(1) << 30)
/* A thread that wakes up more often than the least does nothing else. */
#define MIN_INTERVAL_NS 20000
#define MAX_INTERVAL_NS (10000 * DB_MILLISECOND)
#define MAX_SCRUB_BYTES (SIZE_MAX > UINT32_MAX ? INT64_C(1) << 40 : INT64_C(1) << 30)

static bool parse_list(int *cpus, uint32_t *count, uint32_t most, const char *text)
{
    *count = 0;
    for (char *end; *text; text = *end == ',' ? end + 1 : end) {
        long cpu = strtol(text, &end, 10);
        if (end == text || cpu < 0 || cpu > 4095 || *count == most || (*end && *end != ','))
            return false;
        cpus[(*count)++] = (int)cpu;
    }
    return *count > 0;
}

bool parse_cpus(int *cpus, uint32_t *count, const char *text)
{
    return parse_list(cpus, count, DB_MAX_CORES, text);
}

static bool parse_number(const char *text, int64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoll(text, &end, 10);
    return errno == 0 && end != text && *end == '\0';
}

/* As many numbers as asked for, separated by commas. */
static bool parse_numbers(const char *text, int64_t *numbers, int count)
{
    char *end;
    for (int i = 0; i < count; i++, text = end + 1) {
        errno = 0;
        numbers[i] = strtoll(text, &end, 10);
        if (errno || end == text || *end != (i + 1 < count ? ',' : '\0') || numbers[i] < 0)
            return false;
    }
    return true;
}

/* No injected thread has a core for more than half of the time, nor for longer than a blink. */
static bool parse_hog(struct injection *inject, const char *text)
{
    int64_t n[4];
    if (!parse_numbers(text, n, 4) || n[0] >= DB_MAX_CORES || n[2] > MAX_HOG_NS || n[3] < 2 * n[2] ||
        n[3] < MIN_HOG_PERIOD_NS || n[1] > DB_LONGEST_NS || n[3] > DB_LONGEST_NS)
        return false;
    inject->hog_core = (int32_t)n[0];
    inject->hog_start_ns = n[1];
    inject->hog_length_ns = n[2];
    inject->hog_period_ns = n[3];
    return true;
}

static bool parse_move(struct injection *inject, const char *text)
{
    int64_t n[2];
    if (!parse_numbers(text, n, 2) || n[0] > UINT16_MAX || n[1] < DB_MILLISECOND || n[1] > DB_LONGEST_NS)
        return false;
    inject->move_task = (int32_t)n[0];
    inject->move_period_ns = n[1];
    return true;
}

static bool parse_policy(enum db_policy *policy, const char *word)
{
    static const char *const words[] = {
        [DB_POLICY_OTHER] = "other", [DB_POLICY_FIFO] = "fifo", [DB_POLICY_RR] = "rr"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], word) == 0)
            return *policy = (enum db_policy)i, true;
    return false;
}

static bool parse_text_option(struct options *o, const char *key, const char *value)
{
    if (strcmp(key, "--cpus") == 0)
        return parse_cpus(o->cpus, &o->cpu_count, value);
    if (strcmp(key, "--normal-cpus") == 0)
        return parse_cpus(o->rounds.normal_cpus, &o->rounds.normal_cpu_count, value);
    if (strcmp(key, "--visit") == 0)
        return parse_cpus(o->visit, &o->visit_count, value);
    if (strcmp(key, "--policy") == 0)
        return parse_policy(&o->policy, value);
    if (strcmp(key, "--inject-hog") == 0)
        return parse_hog(&o->inject, value);
    if (strcmp(key, "--inject-migrate") == 0)
        return parse_move(&o->inject, value);
    if (strcmp(key, "--entries") == 0)
        return o->entries = value, true;
    if (strcmp(key, "--pairs") == 0)
        return parse_list(o->sampling.pairs, &o->sampling.paired, 2 * DB_MAX_PAIRS, value);
    if (strcmp(key, "--primitive") == 0)
        return o->sampling.primitive = value, true;
    if (strcmp(key, "--variant") == 0)
        return o->sampling.variant = value, true;
    if (strcmp(key, "--out") == 0)
        return o->out = value, true;
    if (strcmp(key, "--break-file") == 0)
        return o->break_file = value, true;
    if (strcmp(key, "--mark-file") == 0)
        return o->mark_file = value, true;
    return false;
}

/* Where an option lies in struct options, what it is, and what it lies between. */
enum kind { FLAG, SMALL, INDEX, NUMBER, BYTES };

static const struct number {
    const char *key;
    enum kind kind;
    size_t offset;
    int64_t least, most;
} numbers[] = {
    {"--seconds-ns", NUMBER, offsetof(struct options, seconds_ns), 0, DB_LONGEST_NS},
    {"--bound-ns", NUMBER, offsetof(struct options, bound_ns), 1, DB_LONGEST_NS},
    {"--lock-wait-ns", NUMBER, offsetof(struct options, lock_wait_ns), 0, DB_LONGEST_NS},
    {"--inject-ns", NUMBER, offsetof(struct options, inject.delay_ns), 0, MAX_DELAY_NS},
    {"--interval-ns", NUMBER, offsetof(struct options, interval_ns), MIN_INTERVAL_NS, MAX_INTERVAL_NS},
    {"--break-ns", NUMBER, offsetof(struct options, break_ns), 0, DB_LONGEST_NS},
    {"--priority", SMALL, offsetof(struct options, priority), 0, 99},
    {"--worst", SMALL, offsetof(struct options, worst), 0, DB_MAX_WORST},
    {"--dma-latency", FLAG, offsetof(struct options, hold_latency), 0, 1},
    {"--hpet", FLAG, offsetof(struct options, hpet), 0, 1},
    {"--until-eof", FLAG, offsetof(struct options, until_eof), 0, 1},
    {"--seed", NUMBER, offsetof(struct options, seed), 0, INT64_MAX},
    {"--scrub-bytes", BYTES, offsetof(struct options, scrub_bytes), 0, MAX_SCRUB_BYTES},
    {"--jobs", SMALL, offsetof(struct options, jobs), 0, UINT16_MAX},
    {"--slot-periods", SMALL, offsetof(struct options, slot_periods), 0, MAX_WARMUP},
    {"--warmup", SMALL, offsetof(struct options, warmup), 0, MAX_WARMUP},
    {"--set", SMALL, offsetof(struct options, set_index), 0, UINT32_MAX},
    {"--kinds", SMALL, offsetof(struct options, kinds), 1, DB_MAX_CORES},
    {"--participants", SMALL, offsetof(struct options, participants), 1, UINT16_MAX},
    {"--inject-task", INDEX, offsetof(struct options, inject.delay_task), -1, UINT16_MAX},
    {"--inject-every", SMALL, offsetof(struct options, inject.delay_every), 1, MAX_WARMUP},
    {"--inject-fair", INDEX, offsetof(struct options, inject.fair_core), -1, DB_MAX_CORES},
    {"--normal", SMALL, offsetof(struct options, rounds.normal), 0, 1024},
    {"--pin", INDEX, offsetof(struct options, rounds.pin), -1, 4095},
    {"--units", NUMBER, offsetof(struct options, rounds.units), 1, MAX_UNITS},
    {"--unit-ps", NUMBER, offsetof(struct options, rounds.unit_ps), 1, MAX_UNITS},
    {"--gap-ns", NUMBER, offsetof(struct options, rounds.gap_ns), 1000, DB_LONGEST_NS},
    {"--period-ns", NUMBER, offsetof(struct options, rounds.period_ns), 0, DB_LONGEST_NS},
    {"--size", NUMBER, offsetof(struct options, sampling.size), 1, INT64_C(1) << 40},
    {"--amount", NUMBER, offsetof(struct options, sampling.amount), 0, INT64_C(1) << 32},
    {"--work", NUMBER, offsetof(struct options, sampling.work), 0, MAX_UNITS},
    {"--count", NUMBER, offsetof(struct options, sampling.count), 0, INT64_MAX},
    {"--keep", FLAG, offsetof(struct options, sampling.keep), 0, 1},
    {"--counter", FLAG, offsetof(struct options, sampling.counter), 0, 1},
    {"--batch", SMALL, offsetof(struct options, sampling.batch), 1, MAX_WARMUP},
    {"--second-priority", SMALL, offsetof(struct options, sampling.second_priority), 0, 99},
    {"--real-time", SMALL, offsetof(struct options, rounds.real_time), 0, 64},
    {"--solo", FLAG, offsetof(struct options, solo), 0, 1},
    {"--late", FLAG, offsetof(struct options, late), 0, 1},
    {"--split", FLAG, offsetof(struct options, split), 0, 1},
    {"--causes", FLAG, offsetof(struct options, causes), 0, 1},
    {"--counters", FLAG, offsetof(struct options, counters), 0, 1},
    {"--one-process", FLAG, offsetof(struct options, one_process), 0, 1},
    {"--lock-memory", FLAG, offsetof(struct options, lock_memory), 0, 1},
    {"--cold", FLAG, offsetof(struct options, cold), 0, 1},
};

static void put_number(struct options *o, const struct number *number, int64_t n)
{
    void *place = (unsigned char *)o + number->offset;
    switch (number->kind) {
    case FLAG:
        *(bool *)place = n != 0;
        break;
    case SMALL:
        *(uint32_t *)place = (uint32_t)n;
        break;
    case INDEX: /* -1: none */
        *(int32_t *)place = (int32_t)n;
        break;
    case NUMBER:
        *(int64_t *)place = n;
        break;
    case BYTES:
        *(size_t *)place = (size_t)n;
        break;
    }
}

static const struct number *find_number(const char *key)
{
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(key, numbers[i].key) == 0)
            return &numbers[i];
    return NULL;
}

/* False after saying why. */
static bool parse_option(struct options *o, const char *key, const char *value)
{
    int64_t n;
    const struct number *number = find_number(key);
    if (!number && parse_text_option(o, key, value))
        return true;
    if (number && parse_number(value, &n) && n >= number->least && n <= number->most)
        return put_number(o, number, n), true;
    if (number)
        fprintf(stderr, "cannot use %s %s: a whole number from %lld to %lld\n", key, value,
                (long long)number->least, (long long)number->most);
    else
        fprintf(stderr, "cannot use %s %s\n", key, value);
    return false;
}

static const char *inconsistency(const struct options *o)
{
    if (o->cpu_count == 0)
        return "no CPUs are given: --cpus LIST";
    if (o->inject.hog_core >= (int32_t)o->cpu_count)
        return "--inject-hog names a core beyond --cpus";
    if (o->inject.fair_core >= (int32_t)o->cpu_count)
        return "--inject-fair names a core beyond --cpus";
    for (uint32_t i = 0; i < o->visit_count; i++)
        if (o->visit[i] >= (int)o->cpu_count)
            return "--visit names a core beyond --cpus";
    if (o->inject.delay_ns > 0 && o->inject.delay_task < 0)
        return "--inject-ns needs a task: --inject-task INDEX";
    return NULL;
}

bool parse_options(struct options *o, int count, char **words)
{
    for (int i = 0; i + 1 < count; i += 2)
        if (!parse_option(o, words[i], words[i + 1]))
            return false;
    o->split = o->split || o->causes;
    const char *why = count % 2 ? "the last option has no value" : inconsistency(o);
    if (why)
        fprintf(stderr, "%s\n", why);
    return !why;
}
