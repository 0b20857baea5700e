/* The options of the program: --key value pairs. */
#include "runtime.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* An injected thread keeps a core for no longer at a time. */
#define MAX_HOG_NS (100 * DB_MILLISECOND)

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
        n[3] < DB_MILLISECOND)
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
    if (!parse_numbers(text, n, 2) || n[0] > UINT16_MAX || n[1] < DB_MILLISECOND)
        return false;
    inject->move_task = (int32_t)n[0];
    inject->move_period_ns = n[1];
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
    if (strcmp(key, "--inject-hog") == 0)
        return parse_hog(&o->inject, value);
    if (strcmp(key, "--inject-migrate") == 0)
        return parse_move(&o->inject, value);
    if (strcmp(key, "--entries") == 0)
        return o->entries = value, true;
    if (strcmp(key, "--out") == 0)
        return o->out = value, true;
    return false;
}

/* Where an option lies in struct options, and what it is. */
enum kind { FLAG, SMALL, INDEX, NUMBER, BYTES };

static const struct {
    const char *key;
    enum kind kind;
    size_t offset;
} numbers[] = {
    {"--seconds-ns", NUMBER, offsetof(struct options, seconds_ns)},
    {"--solo-ns", NUMBER, offsetof(struct options, solo_ns)},
    {"--wait-ns", NUMBER, offsetof(struct options, wait_ns)},
    {"--lock-wait-ns", NUMBER, offsetof(struct options, lock_wait_ns)},
    {"--inject-ns", NUMBER, offsetof(struct options, inject.delay_ns)},
    {"--seed", NUMBER, offsetof(struct options, seed)},
    {"--scrub-bytes", BYTES, offsetof(struct options, scrub_bytes)},
    {"--windows", SMALL, offsetof(struct options, windows)},
    {"--extra-windows", SMALL, offsetof(struct options, extra_windows)},
    {"--warmup", SMALL, offsetof(struct options, warmup)},
    {"--tolerance-ppm", SMALL, offsetof(struct options, tolerance_ppm)},
    {"--set", SMALL, offsetof(struct options, set_index)},
    {"--inject-task", INDEX, offsetof(struct options, inject.delay_task)},
    {"--inject-fair", INDEX, offsetof(struct options, inject.fair_core)},
    {"--late", FLAG, offsetof(struct options, late)},
    {"--split", FLAG, offsetof(struct options, split)},
    {"--causes", FLAG, offsetof(struct options, causes)},
    {"--counters", FLAG, offsetof(struct options, counters)},
    {"--one-process", FLAG, offsetof(struct options, one_process)},
    {"--lock-memory", FLAG, offsetof(struct options, lock_memory)},
    {"--cold", FLAG, offsetof(struct options, cold)},
};

static bool put_number(void *place, enum kind kind, int64_t n)
{
    if (kind == INDEX && n >= -1 && n <= INT32_MAX) /* -1: none */
        return *(int32_t *)place = (int32_t)n, true;
    if (n < 0 || kind == INDEX)
        return false;
    if (kind == FLAG)
        *(bool *)place = n != 0;
    else if (kind == NUMBER)
        *(int64_t *)place = n;
    else if (kind == BYTES)
        *(size_t *)place = (size_t)n;
    else if (n <= UINT32_MAX)
        *(uint32_t *)place = (uint32_t)n;
    else
        return false;
    return true;
}

static bool parse_option(struct options *o, const char *key, const char *value)
{
    int64_t n;
    if (parse_text_option(o, key, value))
        return true;
    if (!parse_number(value, &n))
        return false;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(key, numbers[i].key) == 0)
            return put_number((unsigned char *)o + numbers[i].offset, numbers[i].kind, n);
    return false;
}

static bool consistent(const struct options *o)
{
    return o->cpu_count > 0 && o->windows >= 1 && o->windows <= 1000 && o->extra_windows <= 1000 &&
           o->inject.hog_core < (int32_t)o->cpu_count && o->inject.fair_core < (int32_t)o->cpu_count;
}

bool parse_options(struct options *o, int count, char **words)
{
    for (int i = 0; i + 1 < count; i += 2)
        if (!parse_option(o, words[i], words[i + 1])) {
            fprintf(stderr, "cannot use %s %s\n", words[i], words[i + 1]);
            return false;
        }
    o->split = o->split || o->causes;
    return count % 2 == 0 && consistent(o);
}
