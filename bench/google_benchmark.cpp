/*
 * The operations of runtime/primitives/copy.c and alloc_cycle.c, timed by google-benchmark: the same loop
 * over memory of the same kind. bench_primitives.py compiles it as it does ours.
 *
 *   google_benchmark copy|alloc BYTES OPERATIONS REPETITIONS [--benchmark_...]
 */
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <thread>

namespace
{

constexpr std::size_t LIVING = 64; /* as alloc_cycle's amount */

std::size_t bytes;
unsigned char *from, *to;

struct ring {
    std::size_t bytes, room, at;
    unsigned char **held;
} *own;

unsigned char *mapped(std::size_t size)
{
    void *memory =
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED)
        std::abort();
    return static_cast<unsigned char *>(memory);
}

void touched(void *pointer)
{
    __asm__ volatile("" : : "r"(pointer) : "memory");
}

void copy(benchmark::State &state)
{
    unsigned char *const source = from, *const target = to;
    const std::size_t count = bytes;
    for (auto _ : state) {
        std::memcpy(target, source, count);
        touched(target);
    }
}

inline void cycle(ring *objects)
{
    unsigned char **held = &objects->held[objects->at];
    objects->at = objects->at + 1 < objects->room ? objects->at + 1 : 0;
    std::free(*held);
    auto *object = static_cast<unsigned char *>(std::malloc(objects->bytes));
    touched(object);
    *held = object;
    if (!object)
        std::abort();
    object[0] = 1;
}

void alloc(benchmark::State &state)
{
    ring *objects = own;
    for (auto _ : state)
        cycle(objects);
}

} // namespace

int main(int count, char **words)
{
    if (count < 5 || mlockall(MCL_CURRENT | MCL_FUTURE))
        return 1;
    bytes = std::strtoul(words[2], nullptr, 10);
    bool copies = std::string(words[1]) == "copy";
    if (copies) {
        from = mapped(bytes);
        to = mapped(bytes);
        std::memset(from, 1, bytes);
    } else {
        own = reinterpret_cast<ring *>(mapped(sizeof *own));
        *own = {bytes, LIVING, 0, reinterpret_cast<unsigned char **>(mapped(LIVING * sizeof *own->held))};
    }
    benchmark::RegisterBenchmark(words[1], copies ? copy : alloc)
        ->Iterations(std::strtol(words[3], nullptr, 10))
        ->Repetitions(std::atoi(words[4]));
    count -= 4;
    words += 4;
    benchmark::Initialize(&count, words);
    /* as ours is: a thread beside the first, whose malloc has an arena of its own and takes its lock */
    std::thread([] { benchmark::RunSpecifiedBenchmarks(); }).join();
    return 0;
}
