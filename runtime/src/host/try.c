/* What of the pool this machine can do: each entry is set up, run and checked once, in a process of its own,
 * after an object for as many participants as there will be at most. */
#include "runtime.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define TRY_BOUND_NS (5000 * DB_MILLISECOND)
#define TRY_CALLS 3

struct attempt {
    struct rendezvous meeting;
};

/* 0 or the errno of making an object for so many participants. */
static int attempt_object(const struct db_fragment *fragment, uint32_t size, uint32_t participants,
                          const struct options *o)
{
    struct db_resource resource;
    int error = object_make(&resource, fragment, participants, size, o);
    object_end(&resource, fragment, NULL);
    return error;
}

/* False after saying how many participants an object can serve here. */
static bool attempt_participants(const struct db_fragment *fragment, uint32_t size, const struct options *o,
                                 struct failure *f)
{
    char what[100];
    uint32_t most = 1, beyond = o->participants;
    int error = beyond > 1 ? attempt_object(fragment, size, beyond, o) : 0;
    if (!error)
        return true;
    while (beyond - most > 1) {
        uint32_t middle = most + (beyond - most) / 2;
        int why = attempt_object(fragment, size, middle, o);
        error = why ? why : error;
        *(why ? &beyond : &most) = middle;
    }
    snprintf(what, sizeof what, "its object serves at most %u participants here, %u need it", most,
             o->participants);
    return fail_errno(f, what, error), false;
}

static bool attempt_entry(const struct db_fragment *fragment, uint32_t size, const struct options *o,
                          struct failure *f)
{
    char why[120];
    struct db_resource resource = {.participants = 1, .cores = 1, .max_size = size};
    struct db_context context;
    bool sy = fragment->kind == DB_SY;
    size_t bytes = sy && fragment->shared_bytes ? fragment->shared_bytes(1, size) : 0;
    void *shared = port_map(round_up(bytes + DB_CACHE_LINE, 4096), 1);
    void *memory = port_map(context_bytes(fragment, size), 0);
    int error = shared && memory ? 0 : ENOMEM;
    if (!error && sy)
        error = resource_create(&resource, fragment, shared, o->policy, o->owner_pid);
    if (error)
        return fail_errno(f, "its object cannot be made", error), false;
    error = context_setup(&context, memory, size, 1, sy ? &resource : NULL, 0, fragment);
    if (error)
        fail_errno(f, "it cannot be set up", error);
    for (int i = 0; !error && i < TRY_CALLS; i++)
        fragment->run(&context);
    if (!error && fragment->check && fragment->check(&context, why, sizeof why))
        fail_with(f, "its work is not right", why);
    if (!error && fragment->teardown)
        fragment->teardown(&context);
    if (sy && fragment->destroy)
        fragment->destroy(&resource);
    return !has_failed(f) && (!sy || attempt_participants(fragment, size, o, f));
}

static void try_entry(const char *name, uint32_t size, const struct options *o)
{
    const struct db_fragment *fragment = find_fragment(name);
    struct attempt *attempt = port_map(sizeof *attempt, 1);
    if (!fragment || !attempt) {
        printf("no %s/%u it is not in this program\n", name, size);
        return;
    }
    int pid = port_fork();
    if (pid == 0) {
        bool ok = place_agent(o, o->cpus[0], &attempt->meeting.failure, TRY_BOUND_NS) &&
                  (o->policy != DB_POLICY_FIFO || port_set_policy(o->policy, DB_PRIORITY_TASK_LOW) == 0) &&
                  attempt_entry(fragment, size, o, &attempt->meeting.failure);
        port_exit(ok ? 0 : 1);
    }
    int status = port_reap(pid);
    const char *reason = has_failed(&attempt->meeting.failure) ? attempt->meeting.failure.reason : "it died";
    if (status == 0)
        printf("yes %s/%u\n", name, size);
    else
        printf("no %s/%u %s\n", name, size, reason);
    port_unmap(attempt, sizeof *attempt);
}

int try_fragments(const struct options *o)
{
    char name[64];
    unsigned size;
    FILE *file = fopen(o->entries ? o->entries : "", "r");
    if (!file) {
        printf("error entries the list of entries cannot be read: %s\n", strerror(errno));
        return 1;
    }
    guard_allow(60000 * DB_MILLISECOND);
    printf("ipc %s\n", o->private_ipc ? "private" : "shared");
    fflush(stdout);
    while (fscanf(file, "%63s %u", name, &size) == 2)
        try_entry(name, size, o);
    fclose(file);
    fflush(stdout);
    return 0;
}
