/*+++
 * summary = "First write to a fresh page of anonymous memory: one page fault"
 +++*/
#include "deadbeat/primitive.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define PAGES 64

struct pages {
    unsigned char *at;
    size_t bytes, page;
    uint64_t touched;
    long faults; /* of this thread, before */
};

static long faults_now(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) ? 0 : usage.ru_minflt;
}

static int begin(struct db_sampler *s)
{
    struct pages *own = port_map(sizeof *own, 0);
    if (!own)
        return ENOMEM;
    s->own = own;
    own->page = (size_t)sysconf(_SC_PAGESIZE);
    own->bytes = PAGES * own->page;
    own->at = mmap(NULL, own->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (own->at == MAP_FAILED)
        return errno;
    /* Memory of the process is locked: locked pages are never fresh. */
    if (munlock(own->at, own->bytes))
        return errno;
    madvise(own->at, own->bytes, MADV_NOHUGEPAGE); /* a kernel without huge pages refuses */
    own->faults = faults_now();
    return 0;
}

static void run(struct db_sampler *s)
{
    struct pages *own = s->own;
    while (db_goes_on(s) && !s->why) {
        if (madvise(own->at, own->bytes, MADV_DONTNEED))
            s->why = "the kernel would not take pages back";
        s->last_ns = port_now_ns(); /* to give pages back is no gap */
        for (size_t i = 0; i < own->bytes && db_goes_on(s); i += own->page) {
            int64_t begin_ns = port_now_ns();
            *(volatile unsigned char *)(own->at + i) = 1;
            db_sample(s, begin_ns, port_now_ns());
            own->touched++;
        }
    }
}

static void end(struct db_sampler *s)
{
    struct pages *own = s->own;
    if (!own)
        return;
    if ((uint64_t)(faults_now() - own->faults) < own->touched)
        s->why = "pages were touched that were there already";
    if (own->at != MAP_FAILED)
        munmap(own->at, own->bytes);
    port_unmap(own, sizeof *own);
}

const struct db_primitive db_primitive_fault = {.name = "fault", .begin = begin, .run = run, .end = end};
