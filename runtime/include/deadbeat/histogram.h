/*
 * Counts of times without a loss: 1 ns below 2048 ns, 1/1024 above, for every 63-bit value. The
 * numbering is that of src/deadbeat/base/model/histogram.py; tests/golden/histogram-buckets.csv ties both.
 */
#ifndef DEADBEAT_HISTOGRAM_H
#define DEADBEAT_HISTOGRAM_H

#include <stdint.h>

/* Buckets of a power of two, as a power of two. */
#define DB_SUB_BITS 10
/* So many hold every value up to INT64_MAX. */
#define DB_BUCKETS ((63 - DB_SUB_BITS + 1) << DB_SUB_BITS)

static inline uint32_t db_bucket_of(int64_t value)
{
    int bits = 64 - __builtin_clzll((uint64_t)value | 1);
    int shift = bits > DB_SUB_BITS + 1 ? bits - DB_SUB_BITS - 1 : 0;
    return ((uint32_t)shift << DB_SUB_BITS) + (uint32_t)((uint64_t)value >> shift);
}

static inline int64_t db_bucket_low(uint32_t bucket)
{
    uint32_t octave = bucket >> DB_SUB_BITS;
    uint32_t shift = octave > 1 ? octave - 1 : 0;
    return (int64_t)((uint64_t)(bucket - (shift << DB_SUB_BITS)) << shift);
}

static inline int64_t db_bucket_high(uint32_t bucket)
{
    return bucket + 1 < DB_BUCKETS ? db_bucket_low(bucket + 1) - 1 : INT64_MAX;
}

/* Sums of days of nanoseconds, and of what was missed in them, take more than 64 bits. Compilers for
 * 32-bit machines know no longer integers. */
struct db_wide {
    uint64_t low, high;
};

static inline void db_wide_add(struct db_wide *sum, uint64_t low, uint64_t high)
{
    sum->low += low;
    sum->high += high + (sum->low < low);
}

static inline struct db_wide db_wide_product(uint64_t a, uint64_t b)
{
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t middle = a1 * b0 + (a0 * b0 >> 32);
    uint64_t cross = a0 * b1 + (uint32_t)middle;
    return (struct db_wide){.low = cross << 32 | (uint32_t)(a0 * b0),
                            .high = a1 * b1 + (middle >> 32) + (cross >> 32)};
}

#define DB_WIDE_DIGITS 40

/* Its decimal digits, at the end of `text`, which ends with 0. */
static inline const char *db_wide_text(struct db_wide value, char text[DB_WIDE_DIGITS])
{
    uint32_t parts[4] = {(uint32_t)(value.high >> 32), (uint32_t)value.high, (uint32_t)(value.low >> 32),
                         (uint32_t)value.low};
    char *at = text + DB_WIDE_DIGITS - 1;
    uint32_t left;
    *at = '\0';
    do {
        uint64_t rest = 0;
        left = 0;
        for (int i = 0; i < 4; i++) {
            rest = rest << 32 | parts[i];
            parts[i] = (uint32_t)(rest / 10);
            rest %= 10;
            left |= parts[i];
        }
        *--at = (char)('0' + rest);
    } while (left);
    return at;
}

struct db_histogram {
    struct db_wide sum; /* what every value changes lies in one line of the cache */
    uint64_t total;
    int64_t min, max; /* of nothing: INT64_MAX and -1 */
    uint64_t counts[DB_BUCKETS];
};

/* Of zeroed memory. */
static inline void db_histogram_begin(struct db_histogram *h)
{
    h->min = INT64_MAX;
    h->max = -1;
}

static inline void db_histogram_add(struct db_histogram *h, int64_t value)
{
    h->counts[db_bucket_of(value)]++;
    h->total++;
    db_wide_add(&h->sum, (uint64_t)value, 0);
    if (value < h->min)
        h->min = value;
    if (value > h->max)
        h->max = value;
}

/* Adds last, last - step, last - 2 step and so on, `count` >= 1 values, none below 0. Takes no longer
 * than there are buckets between the first and the last, however many values they are. */
static inline void db_histogram_add_row(struct db_histogram *h, int64_t last, int64_t step, uint64_t count)
{
    int64_t first = last - (int64_t)(count - 1) * step;
    for (uint64_t done = 0; done < count;) {
        int64_t value = first + (int64_t)done * step;
        uint32_t bucket = db_bucket_of(value);
        int64_t high = db_bucket_high(bucket);
        uint64_t inside = (uint64_t)(((high < last ? high : last) - value) / step) + 1;
        h->counts[bucket] += inside;
        done += inside;
    }
    h->total += count;
    struct db_wide twice = db_wide_product(count, (uint64_t)first + (uint64_t)last); /* even */
    db_wide_add(&h->sum, twice.low >> 1 | twice.high << 63, twice.high >> 1);
    if (first < h->min)
        h->min = first;
    if (last > h->max)
        h->max = last;
}

#endif
