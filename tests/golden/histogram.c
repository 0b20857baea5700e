/* Prints what runtime/include/deadbeat/histogram.h makes of values and rows of values on its input. */
#include "deadbeat/histogram.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void print_value(int64_t value)
{
    uint32_t bucket = db_bucket_of(value);
    printf("%" PRId64 ",%u,%" PRId64 ",%" PRId64 "\n", value, bucket, db_bucket_low(bucket),
           db_bucket_high(bucket));
}

static void print_histogram(const struct db_histogram *h)
{
    char digits[DB_WIDE_DIGITS];
    printf("%" PRIu64 " %" PRId64 " %" PRId64 " %s", h->total, h->min, h->max, db_wide_text(h->sum, digits));
    for (uint32_t i = 0; i < DB_BUCKETS; i++)
        if (h->counts[i])
            printf(" %u:%" PRIu64, i, h->counts[i]);
    printf("\n");
}

int main(void)
{
    char word[8];
    int64_t value, step;
    uint64_t count;
    while (scanf("%7s", word) == 1) {
        struct db_histogram *h = calloc(1, sizeof *h);
        db_histogram_begin(h);
        if (word[0] == 'v' && scanf("%" SCNd64, &value) == 1)
            print_value(value);
        else if (word[0] == 'r' && scanf("%" SCNd64 " %" SCNd64 " %" SCNu64, &value, &step, &count) == 3) {
            db_histogram_add_row(h, value, step, count);
            print_histogram(h);
        } else if (word[0] == 's' && scanf("%" SCNd64 " %" SCNd64 " %" SCNu64, &value, &step, &count) == 3) {
            for (uint64_t i = 0; i < count; i++)
                db_histogram_add(h, value - (int64_t)i * step);
            print_histogram(h);
        }
        free(h);
    }
    return 0;
}
