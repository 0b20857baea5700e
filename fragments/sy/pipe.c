/*+++
 * name = "pipe"
 * kind = "SY"
 * summary = "Pipe with records of one size: write a record, read any"
 * resource_class = "pipe"
 * sizes = [1, 4, 16, 64]
 * size_unit = "operations"
 * quick = [1, 16]
 * requires = ["pipe"]
 * modes = ["default"]
 * blocking = true
 * hold = "the kernel's mutex of the pipe while 64 bytes are copied"
 * parallel = true
 * mixed_priorities = true
 * origin = "own; POSIX pipes"
 * tacle = ""
 * licence = "Apache-2.0"
 * tsan = true
 +++*/
#include "deadbeat/sy/message.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

/* Writes up to PIPE_BUF bytes are atomic, and the pipe only ever holds whole records: every read
 * gets exactly one. */
_Static_assert(sizeof(struct db_message) <= PIPE_BUF, "a record is written in one piece");

enum { READ_END = 0, WRITE_END = 1 };

static size_t shared_bytes(uint32_t participants, uint32_t max_size)
{
    (void)max_size;
    return db_accounts_bytes(participants);
}

static void destroy(struct db_resource *resource)
{
    for (unsigned i = READ_END; i <= WRITE_END; i++) {
        if (resource->fds[i] >= 0) {
            (void)close(resource->fds[i]);
            resource->fds[i] = -1;
        }
    }
}

static int create(struct db_resource *resource)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC)) {
        return errno;
    }
    resource->fds[READ_END] = ends[READ_END];
    resource->fds[WRITE_END] = ends[WRITE_END];
    const int wanted = (int)(resource->participants * sizeof(struct db_message));
    if (fcntl(ends[WRITE_END], F_GETPIPE_SZ) < wanted && fcntl(ends[WRITE_END], F_SETPIPE_SZ, wanted) < 0) {
        const int error = errno;
        destroy(resource);
        return error;
    }
    return 0;
}

static int write_record(int fd, const struct db_message *record)
{
    ssize_t bytes;
    do {
        bytes = write(fd, record, sizeof *record);
    } while (bytes < 0 && errno == EINTR);
    if (bytes < 0) {
        return errno;
    }
    return bytes == sizeof *record ? 0 : EMSGSIZE;
}

static int read_record(int fd, struct db_message *record)
{
    ssize_t bytes;
    do {
        bytes = read(fd, record, sizeof *record);
    } while (bytes < 0 && errno == EINTR);
    if (bytes < 0) {
        return errno;
    }
    return bytes == sizeof *record ? 0 : EMSGSIZE;
}

static void run(struct db_context *context)
{
    const struct db_resource *resource = context->resource;
    struct db_account *account = db_account(context);
    struct db_message record;
    for (uint32_t i = 0; i < context->size; i++) {
        db_message_write(&record, context);
        account->sent += record.value;
        int error = write_record(resource->fds[WRITE_END], &record);
        if (error) {
            db_sy_fault(context, "write to the pipe failed", error);
            return;
        }
        error = read_record(resource->fds[READ_END], &record);
        if (error) {
            db_sy_fault(context, "read from the pipe failed", error);
            return;
        }
        if (!db_message_accept(context, &record)) {
            return;
        }
    }
    db_sy_done(context, context->size);
}

static int check_resource(const struct db_resource *resource, char *why, size_t why_bytes)
{
    struct db_message left[2];
    const int flags = fcntl(resource->fds[READ_END], F_GETFL);
    (void)fcntl(resource->fds[READ_END], F_SETFL, flags | O_NONBLOCK);
    const ssize_t bytes = read(resource->fds[READ_END], left, sizeof left);
    (void)fcntl(resource->fds[READ_END], F_SETFL, flags);
    if (db_sy_tokens_back(bytes < 0 ? 0 : bytes, 0, why, why_bytes)) {
        return 1;
    }
    return db_sy_delivered(resource, why, why_bytes);
}

extern const struct db_fragment db_fragment_pipe;
const struct db_fragment db_fragment_pipe = {
    .name = "pipe",
    .kind = DB_SY,
    .context_bytes = db_sy_context_bytes,
    .setup = db_sy_setup,
    .run = run,
    .check = db_sy_check,
    .shared_bytes = shared_bytes,
    .create = create,
    .check_resource = check_resource,
    .destroy = destroy,
};
