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

int refuse_verb(const char *verb, const char *why)
{
    printf("error %s %s\n", verb, why);
    fflush(stdout);
    return 1;
}

int end_verb(int64_t value)
{
    char why[DB_REASON_BYTES];
    if (port_stood(why, sizeof why))
        return refuse_verb("stood", why);
    printf("done 0 %lld\n", (long long)value);
    fflush(stdout);
    return 0;
}

_Noreturn void agent_process(const struct options *o, struct rendezvous *meeting, uint32_t core,
                             int64_t bound_ns, void (*prepare)(void *), void *(*work)(void *), void *argument)
{
    uint64_t thread;
    if (!place_agent(o, o->cpus[core], &meeting->failure, bound_ns)) {
        say_done(meeting);
        port_exit(1);
    }
    if (prepare)
        prepare(argument);
    int error = port_start_thread(work, argument, o->policy, AGENT_PRIORITY, o->cpus[core], &thread);
    if (error) {
        fail_errno(&meeting->failure, "a thread could not be started", error);
        say_done(meeting);
        port_exit(1);
    }
    port_join_thread(thread);
    port_exit(0);
}

/* --- objects ---------------------------------------------------------------------------------------- */

static size_t object_bytes(const struct db_fragment *fragment, uint32_t users, uint32_t size)
{
    size_t bytes = fragment->shared_bytes ? fragment->shared_bytes(users, size) : 0;
    return round_up(bytes + DB_CACHE_LINE, 4096);
}

int object_make(struct db_resource *r, const struct db_fragment *fragment, uint32_t users, uint32_t size,
                const struct options *o)
{
    void *memory = port_map(object_bytes(fragment, users, size), 1);
    *r = (struct db_resource){.participants = users, .cores = users, .max_size = size};
    int error = memory ? resource_create(r, fragment, memory, o->policy, o->owner_pid) : ENOMEM;
    if (error && memory)
        port_unmap(memory, object_bytes(fragment, users, size));
    if (error)
        r->shared = NULL;
    return error;
}

void object_end(struct db_resource *r, const struct db_fragment *fragment, struct failure *failure)
{
    char why[120] = "";
    if (!r->shared)
        return;
    if (failure && !has_failed(failure) && fragment->check_resource &&
        fragment->check_resource(r, why, sizeof why))
        fail_with(failure, fragment->name, why);
    if (fragment->destroy)
        fragment->destroy(r);
    port_unmap(r->shared, object_bytes(fragment, r->participants, r->max_size));
    r->shared = NULL;
}

void shuffle(void *items, uint32_t count, size_t bytes, uint64_t *random)
{
    char *at = items, kept[64];
    for (uint32_t i = count; i > 1; i--) {
        char *last = at + (i - 1) * bytes, *other = at + db_random(random) % i * bytes;
        memcpy(kept, last, bytes);
        memcpy(last, other, bytes);
        memcpy(other, kept, bytes);
    }
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
