/*+++
 * name = "mmap_unmap"
 * kind = "SY"
 * summary = "Map private pages, touch and verify each, unmap them"
 * resource_class = "address-space"
 * sizes = [1, 4, 16, 64]
 * size_unit = "pages"
 * quick = [1, 4]
 * requires = ["virtual-memory"]
 * modes = ["shared-address-space"]
 * blocking = true
 * hold = "the kernel's lock of the address space (mmap_lock) while a mapping is made or removed"
 * parallel = false
 * mixed_priorities = true
 * origin = "own; mmap(2), munmap(2)"
 * tacle = ""
 * licence = "Apache-2.0"
 * tsan = true
 +++*/
/* The object is the address space itself, so only threads of one process contend for it, and one
 * process has no second one to be parallel with: CON only, in the labelled mode only. */
#include "deadbeat/sy/common.h"

#include <sys/mman.h>
#include <unistd.h>

struct task {
    struct db_sy_task common;
    size_t page_bytes;
};

static size_t context_bytes(uint32_t size)
{
    (void)size;
    return sizeof(struct task);
}

static size_t shared_bytes(uint32_t participants, uint32_t max_size)
{
    (void)max_size;
    return db_accounts_bytes(participants);
}

static int create(struct db_resource *resource)
{
    (void)resource;
    return 0;
}

static int setup(struct db_context *context)
{
    struct task *task = context->memory;
    const long page_bytes = sysconf(_SC_PAGESIZE);
    if (page_bytes <= 0) {
        return EINVAL;
    }
    task->page_bytes = (size_t)page_bytes;
    db_account(context)->process = getpid();
    return db_sy_setup(context);
}

/* Writes a word into every page and reads all of them back. */
static bool touch(unsigned char *mapping, size_t page_bytes, uint32_t pages, uint64_t random)
{
    for (uint32_t i = 0; i < pages; i++) {
        uint64_t *word = (uint64_t *)(void *)(mapping + i * page_bytes);
        if (*word != 0) {
            return false; /* a fresh page is zero */
        }
        *word = random + i;
    }
    db_keep(mapping);
    for (uint32_t i = 0; i < pages; i++) {
        if (*(const uint64_t *)(const void *)(mapping + i * page_bytes) != random + i) {
            return false;
        }
    }
    return true;
}

static void run(struct db_context *context)
{
    struct task *task = context->memory;
    const size_t bytes = context->size * task->page_bytes;
    unsigned char *mapping = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED) {
        db_sy_fault(context, "mmap failed", errno);
        return;
    }
    const bool right = touch(mapping, task->page_bytes, context->size, db_random(&task->common.random));
    if (munmap(mapping, bytes)) {
        db_sy_fault(context, "munmap failed", errno);
        return;
    }
    if (!right) {
        db_sy_fault(context, "a fresh page was not zero or lost what was written", 0);
        return;
    }
    db_sy_done(context, 1);
}

/* An address space keeps no count of its own: every mapping was verified by the task that made it. */
static int check_resource(const struct db_resource *resource, char *why, size_t why_bytes)
{
    const struct db_account *accounts = resource->shared;
    int64_t process = 0;
    for (uint32_t i = 0; i < resource->participants; i++) {
        if (accounts[i].process != 0 && process != 0 && accounts[i].process != process) {
            snprintf(why, why_bytes, "participant %" PRIu32 " had an address space of its own", i);
            return 1;
        }
        process = accounts[i].process ? accounts[i].process : process;
    }
    return 0;
}

static void destroy(struct db_resource *resource)
{
    (void)resource;
}

extern const struct db_fragment db_fragment_mmap_unmap;
const struct db_fragment db_fragment_mmap_unmap = {
    .name = "mmap_unmap",
    .kind = DB_SY,
    .context_bytes = context_bytes,
    .setup = setup,
    .run = run,
    .check = db_sy_check_hold,
    .shared_bytes = shared_bytes,
    .create = create,
    .check_resource = check_resource,
    .destroy = destroy,
};
