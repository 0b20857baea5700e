/* A primitive of one CPU that is repeated so many times at a time, as fragments are: what a slot needs. */
#ifndef DEADBEAT_REPEATED_H
#define DEADBEAT_REPEATED_H

#include "runtime.h"

#include "deadbeat/primitive.h"

/* Which one: as the caller's list says. */
struct repeated_kind {
    const struct db_primitive *primitive;
    uint32_t variant;
    int64_t size, amount;
    bool batches; /* a sample may be many operations */
    bool equal;   /* both threads of a pair have one priority, not the second the higher */
};

/* NULL, or why there is no such primitive. */
const char *repeated_find(struct repeated_kind *kind, const char *name, const char *variant);

struct repeated;

/* Before the thread that repeats it starts, in its process; what threads it needs beside run on `cpu`, from
 * `priority` on. NULL: *why says why. */
struct repeated *repeated_new(const struct repeated_kind *kind, enum db_policy policy, int priority, int cpu,
                              const char **why);
/* In that thread; 0 or an errno value. */
int repeated_begin(struct repeated *r);
/* Takes so many samples; their sum in ns, and in *uses their operations. */
int64_t repeated_run(struct repeated *r, uint32_t samples, uint32_t *uses);
/* NULL, or what was not done. */
const char *repeated_end(struct repeated *r);

#endif
