/*+++
 * name = "flock"
 * kind = "SY"
 * summary = "Exclusive flock on one file; every participant has an open file description of its own"
 * resource_class = "file-lock"
 * sizes = [1, 4, 16, 64]
 * size_unit = "operations"
 * quick = []
 * requires = ["file-lock"]
 * modes = ["default"]
 * blocking = true
 * hold = "one update of a guarded counter"
 * parallel = true
 * mixed_priorities = true
 * origin = "own; flock(2)"
 * tacle = ""
 * licence = "Apache-2.0"
 * tsan = false
 +++*/
/* flock conflicts between open file descriptions, and a descriptor inherited by fork shares one:
 * each task must open the file anew. The file is a nameless one in memory (memfd), reached through
 * /proc: nothing to remove after a crash, and the cost does not depend on the file system of the
 * folder deadbeat happens to work in (network file systems have a flock of their own). */
#include "deadbeat/sy/common.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

struct task {
    struct db_sy_task common;
    int fd;
};

struct object {
    struct db_guard guard;
};

static size_t context_bytes(uint32_t size)
{
    (void)size;
    return sizeof(struct task);
}

static size_t shared_bytes(uint32_t participants, uint32_t max_size)
{
    (void)max_size;
    return db_accounts_bytes(participants) + sizeof(struct object);
}

static int create(struct db_resource *resource)
{
    resource->fds[0] = memfd_create("deadbeat-flock", MFD_CLOEXEC);
    return resource->fds[0] < 0 ? errno : 0;
}

static int setup(struct db_context *context)
{
    struct task *task = context->memory;
    (void)db_sy_setup(context);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", context->resource->fds[0]);
    task->fd = open(path, O_RDWR | O_CLOEXEC);
    return task->fd < 0 ? errno : 0;
}

static void teardown(struct db_context *context)
{
    struct task *task = context->memory;
    (void)close(task->fd);
}

static int lock(int fd)
{
    int result;
    do {
        result = flock(fd, LOCK_EX);
    } while (result != 0 && errno == EINTR);
    return result ? errno : 0;
}

static void run(struct db_context *context)
{
    const struct task *task = context->memory;
    struct object *object = db_object(context->resource);
    for (uint32_t i = 0; i < context->size; i++) {
        const int error = lock(task->fd);
        if (error) {
            db_sy_fault(context, "flock(LOCK_EX) failed", error);
            return;
        }
        const bool intact = db_guard_update(context, &object->guard);
        const bool unlocked = flock(task->fd, LOCK_UN) == 0;
        if (!unlocked || !intact) {
            db_sy_fault(context, unlocked ? "two holders at once" : "flock(LOCK_UN) failed",
                        unlocked ? 0 : errno);
            return;
        }
    }
    db_sy_done(context, context->size);
}

static int check_resource(const struct db_resource *resource, char *why, size_t why_bytes)
{
    const struct object *object = db_object(resource);
    if (flock(resource->fds[0], LOCK_EX | LOCK_NB)) {
        snprintf(why, why_bytes, "the file is not free after the last operation: %s", strerror(errno));
        return 1;
    }
    (void)flock(resource->fds[0], LOCK_UN);
    return db_guard_conserved(resource, &object->guard, why, why_bytes);
}

static void destroy(struct db_resource *resource)
{
    if (resource->fds[0] >= 0) {
        (void)close(resource->fds[0]);
        resource->fds[0] = -1;
    }
}

extern const struct db_fragment db_fragment_flock;
const struct db_fragment db_fragment_flock = {
    .name = "flock",
    .kind = DB_SY,
    .context_bytes = context_bytes,
    .setup = setup,
    .run = run,
    .check = db_sy_check,
    .teardown = teardown,
    .shared_bytes = shared_bytes,
    .create = create,
    .check_resource = check_resource,
    .destroy = destroy,
};
