// "heavy" asks for 97 % of CPU 1, so that throttling stops it; "spins" never waits; "fault" touches
// 16 new pages in each job. g++ -O2 -pthread throttled.cpp -o throttled && ./throttled: how many jobs.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <pthread.h>
#include <sys/mman.h>
#include <time.h>

namespace
{

constexpr long kPeriod = 10'000'000, kWork = 9'700'000, kSecond = 1'000'000'000;
constexpr std::size_t kJobs = 300, kPage = 4096, kPages = 16;

long now()
{
    timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * kSecond + at.tv_nsec;
}

void place(const char *name, int priority, int cpu)
{
    const sched_param how{priority};
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(cpu, &cpus);
    pthread_setname_np(pthread_self(), name);
    if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &how) != 0 ||
        pthread_setaffinity_np(pthread_self(), sizeof cpus, &cpus) != 0) {
        std::abort();
    }
}

template <class Act> void loop(Act act)
{
    long next = now();
    for (std::size_t job = 0; job <= kJobs; job++) {
        next += kPeriod;
        const timespec until{next / kSecond, next % kSecond};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
        if (job < kJobs) {
            act(job);
        }
    }
}

} // namespace

int main()
{
    std::atomic<bool> over{false};
    auto *fresh = static_cast<char *>(
        mmap(nullptr, kJobs * kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    madvise(fresh, kJobs * kPages * kPage, MADV_NOHUGEPAGE);
    std::thread fault([&] {
        place("fault", 60, 0);
        loop([&](std::size_t job) {
            for (std::size_t page = 0; page < kPages; page++) {
                fresh[(job * kPages + page) * kPage] = 1;
            }
        });
    });
    std::thread heavy([&] {
        place("heavy", 50, 1);
        loop([](std::size_t) {
            for (const long end = now() + kWork; now() < end;) {
            }
        });
        over = true;
    });
    std::thread spins([&] {
        place("spins", 40, 0);
        while (!over) {
        }
    });
    fault.join();
    heavy.join();
    spins.join();
    std::printf("%zu jobs\n", kJobs);
}
