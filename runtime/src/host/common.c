/* Bounds, processes, names, and the result file's writer. */
#include "runtime.h"

#include "deadbeat/histogram.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct port_bound guard_bound;
int64_t guard_most_ns = INT64_MAX;

void guard_allow(int64_t ns)
{
    port_bound_set(&guard_bound, ns < guard_most_ns ? ns : guard_most_ns);
}

void watch_children(struct rendezvous *meeting)
{
    port_watch_children(meeting ? &meeting->done : NULL, PARTY_DIED);
}

uint32_t process_count(const struct options *options, uint32_t cores)
{
    return options->one_process ? 1 : cores;
}

void name_thread(const char *what, uint32_t number)
{
    char name[16];
    snprintf(name, sizeof name, "db-%s%u", what, number);
    port_name_thread(name);
}

/* --- result file ------------------------------------------------------------------------------------ */

static int put_to_file(struct sink *sink, const void *data, size_t bytes)
{
    const struct writer *writer = (const struct writer *)sink;
    errno = 0;
    return fwrite(data, bytes, 1, writer->file) == 1 ? 0 : errno ? errno : EIO;
}

int writer_open(struct writer *writer, const char *path)
{
    writer->sink = (struct sink){.put = put_to_file};
    writer->file = fopen(path, "wb");
    return writer->file ? 0 : errno;
}

int writer_close(struct writer *writer, const char *part, const char *path)
{
    int error = sink_end(&writer->sink);
    if (fclose(writer->file) != 0 && !error)
        error = errno;
    if (!error && rename(part, path) != 0)
        error = errno;
    if (error)
        remove(part);
    return error;
}

/* --- results for a reader of JSON ------------------------------------------------------------------- */

FILE *part_open(struct part *part, const char *path)
{
    part->path = path;
    snprintf(part->name, sizeof part->name, "%s.part", path);
    part->file = fopen(part->name, "wb");
    return part->file;
}

int part_close(struct part *part)
{
    int error = ferror(part->file) ? EIO : 0;
    if (fclose(part->file) != 0)
        error = errno;
    if (!error && rename(part->name, part->path) != 0)
        error = errno;
    if (error)
        remove(part->name);
    return error;
}

void put_histogram(FILE *file, const char *name, const struct db_histogram *h)
{
    const char *comma = "";
    char digits[DB_WIDE_DIGITS];
    fprintf(file, ",\"%s\":{\"min_ns\":%" PRId64 ",\"max_ns\":%" PRId64 ",\"sum_ns\":", name,
            h->total ? h->min : -1, h->max);
    fputs(db_wide_text(h->sum, digits), file);
    fputs(",\"counts\":[", file);
    for (uint32_t i = 0; i < DB_BUCKETS; i++)
        if (h->counts[i]) {
            fprintf(file, "%s[%u,%" PRIu64 "]", comma, i, h->counts[i]);
            comma = ",";
        }
    fputs("]}", file);
}
