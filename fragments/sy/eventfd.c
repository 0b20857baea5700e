/*+++
 * name = "eventfd"
 * kind = "SY"
 * summary = "Event descriptor with semaphore semantics: add one, take one"
 * resource_class = "semaphore"
 * sizes = [1, 4, 16, 64]
 * size_unit = "operations"
 * quick = [1, 16]
 * requires = ["eventfd"]
 * modes = ["default"]
 * blocking = false
 * hold = "the kernel's lock of the counter while it is changed"
 * parallel = true
 * mixed_priorities = true
 * origin = "own; eventfd(2), EFD_SEMAPHORE"
 * tacle = ""
 * licence = "Apache-2.0"
 * tsan = true
 +++*/
#include "deadbeat/sy/common.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

static size_t shared_bytes(uint32_t participants, uint32_t max_size)
{
    (void)max_size;
    return db_accounts_bytes(participants);
}

/* Without EFD_SEMAPHORE one read takes what all others wrote and leaves them waiting for ever. */
static int create(struct db_resource *resource)
{
    resource->fds[0] = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
    return resource->fds[0] < 0 ? errno : 0;
}

static int add_one(int fd)
{
    const uint64_t one = 1;
    ssize_t bytes;
    do {
        bytes = write(fd, &one, sizeof one);
    } while (bytes < 0 && errno == EINTR);
    return bytes == sizeof one ? 0 : errno;
}

static int take_one(int fd, uint64_t *taken)
{
    ssize_t bytes;
    do {
        bytes = read(fd, taken, sizeof *taken);
    } while (bytes < 0 && errno == EINTR);
    return bytes == sizeof *taken ? 0 : errno;
}

static void run(struct db_context *context)
{
    const int fd = context->resource->fds[0];
    for (uint32_t i = 0; i < context->size; i++) {
        uint64_t taken = 0;
        int error = add_one(fd);
        if (error) {
            db_sy_fault(context, "write to the eventfd failed", error);
            return;
        }
        error = take_one(fd, &taken);
        if (error || taken != 1) {
            db_sy_fault(context, error ? "read from the eventfd failed" : "a read took more than one", error);
            return;
        }
    }
    db_sy_done(context, context->size);
}

static int check_resource(const struct db_resource *resource, char *why, size_t why_bytes)
{
    const int fd = resource->fds[0];
    const int flags = fcntl(fd, F_GETFL);
    int64_t left = 0;
    uint64_t taken = 0;
    (void)fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    while (left < resource->participants && read(fd, &taken, sizeof taken) == sizeof taken) {
        left += (int64_t)taken;
    }
    (void)fcntl(fd, F_SETFL, flags);
    return db_sy_tokens_back(left, 0, why, why_bytes);
}

static void destroy(struct db_resource *resource)
{
    if (resource->fds[0] >= 0) {
        (void)close(resource->fds[0]);
        resource->fds[0] = -1;
    }
}

extern const struct db_fragment db_fragment_eventfd;
const struct db_fragment db_fragment_eventfd = {
    .name = "eventfd",
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
