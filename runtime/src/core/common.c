/* Failure, waiting for one another, contexts, and where results go. */
#include "run.h"

#include <string.h>

void fail_with(struct failure *failure, const char *what, const char *detail)
{
    unsigned free = 0;
    if (!atomic_compare_exchange_strong(&failure->claimed, &free, 1))
        return;
    db_text(failure->reason, sizeof failure->reason, "%s: %s", what, detail);
    for (char *c = failure->reason; *c; c++)
        if (*c == '\n')
            *c = ' ';
    atomic_store(&failure->written, 1);
}

void fail_errno(struct failure *failure, const char *what, int error)
{
    fail_with(failure, what, port_error_text(error));
}

bool has_failed(const struct failure *failure)
{
    return atomic_load(&failure->written) != 0;
}

/* --- waiting ----------------------------------------------------------------------------------- */

bool wait_done(struct rendezvous *meeting, unsigned expected)
{
    for (;;) {
        unsigned done = atomic_load(&meeting->done);
        if (has_failed(&meeting->failure) || done >= PARTY_DIED)
            return false;
        if (done >= expected) {
            /* not a store: a child may have died since */
            return atomic_fetch_sub(&meeting->done, expected) < PARTY_DIED;
        }
        port_wait(&meeting->done, done, -1);
    }
}

void say_done(struct rendezvous *meeting)
{
    atomic_fetch_add(&meeting->done, 1);
    port_wake(&meeting->done);
}

/* --- contexts ------------------------------------------------------------------------------------ */

__attribute__((noinline)) void repeat(void (*run)(struct db_context *), struct db_context *context,
                                      uint32_t times)
{
    for (; times; times--)
        run(context);
}

const struct db_fragment *find_fragment(const char *name)
{
    for (uint32_t i = 0; i < db_fragment_count; i++)
        if (strcmp(db_fragments[i]->name, name) == 0)
            return db_fragments[i];
    return NULL;
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
                    enum db_policy policy, int32_t owner_pid)
{
    resource->shared = shared;
    resource->ceiling = policy == DB_POLICY_FIFO ? DB_PRIORITY_CEILING : 0;
    resource->owner_pid = owner_pid;
    for (int i = 0; i < DB_RESOURCE_FDS; i++)
        resource->fds[i] = -1;
    return fragment->create ? fragment->create(resource) : 0;
}

/* --- where results go -------------------------------------------------------------------------------- */

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

void sink_put(struct sink *sink, const void *data, size_t bytes)
{
    sink->crc = crc_update(sink->crc, data, bytes);
    if (!sink->error && bytes)
        sink->error = sink->put(sink, data, bytes);
}

int sink_end(struct sink *sink)
{
    uint32_t crc = sink->crc;
    if (!sink->error)
        sink->error = sink->put(sink, &crc, sizeof crc);
    return sink->error;
}
