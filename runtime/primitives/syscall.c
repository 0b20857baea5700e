/*+++
 * summary = "A system call that does nothing: getppid"
 * batches = true
 +++*/
#include "deadbeat/primitive.h"

#include <sys/syscall.h>
#include <unistd.h>

static void run(struct db_sampler *s)
{
    while (db_goes_on(s)) {
        DB_SAMPLE(s, syscall(SYS_getppid));
        db_work(s->run);
    }
}

const struct db_primitive db_primitive_syscall = {.name = "syscall", .run = run};
