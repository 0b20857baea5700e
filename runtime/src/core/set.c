/* Objects and threads of a run, its start and its end. */
#include "run.h"

#include <errno.h>

/* From the start signal to the first possible release: time to wake all tasks. */
#define LEAD_NS (500 * INT64_C(1000))
#define LEAD_PER_TASK_NS (20 * INT64_C(1000))

bool start_tasks(struct run *run, uint32_t core, struct task_thread *threads, uint32_t *count)
{
    const struct run_options *o = &run->options;
    for (uint32_t t = 0; t < run->set->task_count; t++) {
        const struct db_task *task = &run->set->tasks[t];
        struct task_thread *thread = &threads[*count];
        if (task->core != core)
            continue;
        *thread = (struct task_thread){
            .run = run, .task = task, .index = t, .memory = port_map(task_memory_bytes(task), 0)};
        int error = thread->memory && (!run->extras || run->extras->start(thread))
                        ? port_start_thread(task_main, thread, o->policy, task->priority, o->cpus[core],
                                            &thread->thread)
                        : ENOMEM;
        if (error) {
            fail_errno(&run->meeting->failure, "a task's thread could not be started", error);
            return false;
        }
        ++*count;
    }
    return true;
}

/* --- resources -------------------------------------------------------------------------------------- */

/* Each on pages of its own. */
static size_t object_bytes(const struct run *run, uint32_t r)
{
    const struct db_fragment *fragment = run->set->resources[r].fragment;
    const struct db_resource *resource = &run->resources[r];
    size_t bytes =
        fragment->shared_bytes ? fragment->shared_bytes(resource->participants, resource->max_size) : 0;
    return round_up(bytes + DB_CACHE_LINE, 4096);
}

/* In one mapping: every further one would make each of the cores' forks longer. */
bool make_resources(struct run *run)
{
    uint32_t count = run->set->resource_count;
    for (uint32_t r = 0; r < count; r++) {
        if (run->resources[r].participants == 0)
            run->resources[r].participants = run->resources[r].cores = 1;
        run->objects_bytes += object_bytes(run, r);
    }
    unsigned char *shared = run->objects = port_map(run->objects_bytes + 4096, 1);
    for (uint32_t r = 0; r < count; r++) {
        const struct db_fragment *fragment = run->set->resources[r].fragment;
        int error = shared ? resource_create(&run->resources[r], fragment, shared, run->options.policy,
                                             run->options.owner_pid)
                           : ENOMEM;
        if (error) {
            fail_errno(&run->meeting->failure, fragment->name, error);
            return false;
        }
        shared += object_bytes(run, r);
        run->resources_made = r + 1;
    }
    return true;
}

void check_resources(struct run *run)
{
    char why[120], text[DB_REASON_BYTES];
    for (uint32_t r = 0; r < run->resources_made; r++) {
        const struct db_fragment *fragment = run->set->resources[r].fragment;
        if (fragment->check_resource && fragment->check_resource(&run->resources[r], why, sizeof why)) {
            db_text(text, sizeof text, "the object of %s is not intact: %s", fragment->name, why);
            fail_with(&run->meeting->failure, "check", text);
        }
    }
}

void destroy_resources(struct run *run)
{
    for (uint32_t r = 0; r < run->resources_made; r++) {
        const struct db_fragment *fragment = run->set->resources[r].fragment;
        if (fragment->destroy)
            fragment->destroy(&run->resources[r]);
    }
    if (run->objects)
        port_unmap(run->objects, run->objects_bytes + 4096);
}

/* --- the run ------------------------------------------------------------------------------------------ */

void tell_all(struct run *run, enum signal signal)
{
    atomic_store(&run->meeting->signal, signal);
    port_wake(&run->meeting->signal);
}

bool run_table(struct run *run, unsigned parties)
{
    *run->base_ns = port_now_ns() + LEAD_NS + run->set->task_count * LEAD_PER_TASK_NS;
    tell_all(run, SIGNAL_RUN);
    return wait_done(run->meeting, parties);
}
