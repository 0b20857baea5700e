/* Bounds, processes, names, and the result file's writer. */
#include "runtime.h"

#include <errno.h>
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
