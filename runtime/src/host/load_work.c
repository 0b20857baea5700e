/* What workers of background loads do on any host. */
#include "load_kinds.h"

#include "deadbeat/fragment.h"
#include "deadbeat/port.h"

#include <errno.h>
#include <string.h>

#define BLOCK 4096

/* --- cpu: busy and asleep in turn ------------------------------------------------------------------ */

/* Slices of 60 to 100 ms, as stress-ng's: of lengths that no tick of the system's accounts falls in with. */
#define SLICE_NS INT64_C(60000000)
#define SLICE_MORE_NS 40000000
#define TABLE_WORDS 4096 /* 32 KiB: what a first-level cache holds */

/* Integers, floating point and a table: some tens of microseconds. */
static void compute(uint64_t *random)
{
    static uint64_t table[TABLE_WORDS];
    double x = 1.0 + (double)(*random >> 40) * 1e-8;
    for (int i = 0; i < 1000; i++) {
        uint64_t drawn = db_random(random);
        table[drawn % TABLE_WORDS] += drawn ^ table[(drawn >> 32) % TABLE_WORDS];
        x = x * 0.75 + 1.0 / (x + (double)(drawn >> 60));
    }
    table[0] += (uint64_t)x;
    db_keep(table);
}

/* What a slice had too little or too much of, the next makes good: the share of all time is as asked for,
 * where others leave it that much. One that was kept from its CPU makes good for no more than a slice. */
int load_cpu(struct db_load *load)
{
    uint64_t random = db_seed_state(load->index);
    int64_t begin = port_now_ns(), before = port_cpu_ns(), owed = 0;
    do {
        int64_t length = SLICE_NS + (int64_t)(db_random(&random) % SLICE_MORE_NS), end = begin + length;
        int64_t want = length * load->amount / 100 + owed, had = 0;
        while (had < want && port_now_ns() < end + length) {
            compute(&random);
            had = port_cpu_ns() - before;
        }
        before += had;
        owed = want - had < length ? want - had : length;
        if (load->amount < 100)
            port_sleep_until_ns(end);
        int64_t now = port_now_ns();
        begin = now - end > length ? now : end;
    } while (db_load_count(load, 1));
    return 0;
}

/* --- memory ------------------------------------------------------------------------------------------ */

#define PATTERNS 8

/* Writes one pattern and reads it back; 0 where it is there. */
static uint64_t fill_and_check(volatile uint64_t *words, size_t count, uint64_t first)
{
    uint64_t wrong = 0;
    for (size_t i = 0; i < count; i++)
        words[i] = first + i;
    for (size_t i = 0; i < count; i++)
        wrong |= words[i] ^ (first + i);
    return wrong;
}

/* New memory, written and read back several times: page faults, and the memory itself. */
int load_vm(struct db_load *load)
{
    size_t bytes = db_load_bytes(load, BLOCK), count = bytes / sizeof(uint64_t);
    uint64_t seed = db_seed_state(load->index);
    do {
        volatile uint64_t *words = port_map(bytes, 0);
        uint64_t wrong = 0;
        if (!words)
            return db_load_fails(load, "getting its memory", ENOMEM);
        for (int i = 0; i < PATTERNS; i++)
            wrong |= fill_and_check(words, count, db_random(&seed));
        port_unmap((void *)words, bytes);
        if (wrong)
            return db_load_fails(load, "reading back what it wrote to memory", EIO);
    } while (db_load_count(load, 1));
    return 0;
}

/* Arrays that no cache holds: together the workers' are four times the largest one; but never a fourth of
 * the memory that is free. */
static size_t stream_values(const struct db_load *load)
{
    size_t cache = port_cache_bytes(), most = port_free_bytes() / 12;
    size_t bytes = 4 * (cache ? cache : (size_t)4 << 20);
    bytes = (most && bytes > most ? most : bytes) / load->workers / BLOCK * BLOCK;
    return (bytes ? bytes : BLOCK) / sizeof(double);
}

/* The four loops of McCalpin's STREAM. */
static void stream(double *restrict a, double *restrict b, double *restrict c, size_t count)
{
    const double q = 0.41421356237309505; /* values neither grow nor vanish: 2q + q*q = 1 */
    for (size_t i = 0; i < count; i++)
        c[i] = a[i];
    for (size_t i = 0; i < count; i++)
        b[i] = q * c[i];
    for (size_t i = 0; i < count; i++)
        c[i] = a[i] + b[i];
    for (size_t i = 0; i < count; i++)
        a[i] = b[i] + q * c[i];
    db_keep(a);
}

int load_stream(struct db_load *load)
{
    size_t count = stream_values(load), bytes = count * sizeof(double);
    double *arrays = port_map(3 * bytes, 0);
    if (!arrays)
        return db_load_fails(load, "getting its memory", ENOMEM);
    for (size_t i = 0; i < count; i++)
        arrays[i] = 1.0 + (double)i;
    do {
        stream(arrays, arrays + count, arrays + 2 * count, count);
    } while (db_load_count(load, 1));
    port_unmap(arrays, 3 * bytes);
    return 0;
}

/* --- scheduler --------------------------------------------------------------------------------------- */

/* So short that the timer of a wait often ends it: timers are set, cancelled and expire. */
#define FUTEX_NS 5000

static void await_turn(atomic_uint *turn, unsigned mine)
{
    while (atomic_load(turn) != mine)
        (void)port_wait(turn, !mine, FUTEX_NS);
}

static void hand_over(atomic_uint *turn, unsigned to)
{
    atomic_store(turn, to);
    port_wake(turn);
}

/* Two processes that hand a word to one another. */
int load_futex(struct db_load *load)
{
    atomic_uint *turn = port_map(BLOCK, 1);
    int partner = turn ? port_fork() : -1;
    if (partner == 0)
        for (;;) {
            await_turn(turn, 1);
            hand_over(turn, 0);
        }
    if (partner < 0)
        return db_load_fails(load, "starting its partner", turn ? errno : ENOMEM);
    do {
        hand_over(turn, 1);
        await_turn(turn, 0);
    } while (db_load_count(load, 1));
    port_kill(partner);
    port_reap(partner);
    return 0;
}

/* Pages of a small program, which each fork copies the tables of; fewer than a huge page has. */
#define FORKED_BYTES ((size_t)1536 << 10)

int load_fork(struct db_load *load)
{
    if (!port_map(FORKED_BYTES, 0))
        return db_load_fails(load, "getting its memory", ENOMEM);
    do {
        int child = port_fork();
        if (child == 0)
            port_exit(0);
        if (child < 0 || port_reap(child) != 0)
            return db_load_fails(load, "starting a process", child < 0 ? errno : ECHILD);
    } while (db_load_count(load, 1));
    return 0;
}
