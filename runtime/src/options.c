/* The options of the program: --key value pairs. */
#include "runtime.h"

#include <errno.h>
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
    else if (strcmp(key, "--causes") == 0)
        o->causes = n != 0;
    else if (strcmp(key, "--counters") == 0)
        o->counters = n != 0;
    else if (strcmp(key, "--set") == 0)
        o->set_index = (uint32_t)n;
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
        o->inject.delay_ns = n;
    else if (strcmp(key, "--inject-task") == 0)
        o->inject.delay_task = (int32_t)n;
    else if (strcmp(key, "--inject-fair") == 0)
        o->inject.fair_core = (int32_t)n;
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
