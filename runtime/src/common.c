/* Failure, waiting for one another, contexts, and the result file's writer. */
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

void fail_with(struct failure *failure, const char *what, const char *detail)
{
    unsigned free = 0;
    if (!atomic_compare_exchange_strong(&failure->claimed, &free, 1))
        return;
    snprintf(failure->reason, sizeof failure->reason, "%s: %s", what, detail);
    for (char *c = failure->reason; *c; c++)
        if (*c == '\n')
            *c = ' ';
    atomic_store(&failure->written, 1);
}

void fail_errno(struct failure *failure, const char *what, int error)
{
    fail_with(failure, what, strerror(error));
}

bool has_failed(const struct failure *failure)
{
    return atomic_load(&failure->written) != 0;
}

/* --- waiting ----------------------------------------------------------------------------------- */

/* A dead child adds this to the count of parties done, so that no wait can be slept through. */
#define CHILD_DIED 0x10000u

void watch_children(struct rendezvous *meeting)
{
    port_watch_children(meeting ? &meeting->done : NULL, CHILD_DIED);
}

bool wait_done(struct rendezvous *meeting, unsigned expected)
{
    for (;;) {
        unsigned done = atomic_load(&meeting->done);
        if (has_failed(&meeting->failure) || done >= CHILD_DIED)
            return false;
        if (done >= expected) {
            /* not a store: a child may have died since */
            return atomic_fetch_sub(&meeting->done, expected) < CHILD_DIED;
        }
        port_wait(&meeting->done, done, -1);
    }
}

void say_done(struct rendezvous *meeting)
{
    atomic_fetch_add(&meeting->done, 1);
    port_wake(&meeting->done);
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

/* --- contexts ------------------------------------------------------------------------------------ */

__attribute__((noinline)) void repeat(void (*run)(struct db_context *), struct db_context *context,
                                      uint32_t times)
{
    for (; times; times--)
        run(context);
}

size_t context_bytes(const struct db_fragment *fragment, uint32_t size)
{
    /* One line at least: a context of no bytes still has an address of its own. */
    size_t bytes = fragment->context_bytes ? fragment->context_bytes(size) : 0;
    return round_up(bytes ? bytes : 1, DB_CACHE_LINE);
}

int context_setup(struct db_context *context, void *memory, uint32_t size, uint64_t seed,
                  struct db_resource *resource, uint32_t participant, const struct db_fragment *fragment)
{
    context->memory = memory;
    context->size = size;
    context->seed = seed;
    context->resource = resource;
    context->participant = participant;
    return fragment->setup ? fragment->setup(context) : 0;
}

int resource_create(struct db_resource *resource, const struct db_fragment *fragment, void *shared,
                    const struct options *options)
{
    resource->shared = shared;
    resource->ceiling = options->policy == DB_POLICY_FIFO ? DB_PRIORITY_CEILING : 0;
    resource->owner_pid = options->owner_pid;
    for (int i = 0; i < DB_RESOURCE_FDS; i++)
        resource->fds[i] = -1;
    return fragment->create ? fragment->create(resource) : 0;
}

const struct db_fragment *find_fragment(const char *name)
{
    for (uint32_t i = 0; i < db_fragment_count; i++)
        if (strcmp(db_fragments[i]->name, name) == 0)
            return db_fragments[i];
    return NULL;
}

/* --- result file ------------------------------------------------------------------------------------ */

static uint32_t crc_update(uint32_t crc, const unsigned char *data, size_t bytes)
{
    static uint32_t table[256]; /* filled once, by the only thread that writes files */
    if (table[1] == 0)
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t c = i;
            for (int k = 0; k < 8; k++)
                c = c & 1 ? 0xEDB88320u ^ (c >> 1) : c >> 1;
            table[i] = c;
        }
    crc = ~crc;
    for (size_t i = 0; i < bytes; i++)
        crc = table[(crc ^ data[i]) & 0xff] ^ (crc >> 8);
    return ~crc;
}

int writer_open(struct writer *writer, const char *path)
{
    writer->crc = 0;
    writer->file = fopen(path, "wb");
    writer->error = writer->file ? 0 : errno;
    return writer->error;
}

static void put_all(struct writer *writer, const void *data, size_t bytes)
{
    if (!writer->error && bytes && fwrite(data, bytes, 1, writer->file) != 1)
        writer->error = errno ? errno : EIO;
}

void writer_put(struct writer *writer, const void *data, size_t bytes)
{
    writer->crc = crc_update(writer->crc, data, bytes);
    put_all(writer, data, bytes);
}

int writer_close(struct writer *writer, const char *part, const char *path)
{
    uint32_t crc = writer->crc;
    put_all(writer, &crc, sizeof crc);
    if (fclose(writer->file) != 0 && !writer->error)
        writer->error = errno;
    if (!writer->error && rename(part, path) != 0)
        writer->error = errno;
    if (writer->error)
        remove(part);
    return writer->error;
}
