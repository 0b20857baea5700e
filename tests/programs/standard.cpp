// std::thread, std::mutex and sleep_until, which the library makes a relative sleep.
#include "truth.h"

#include <chrono>
#include <mutex>
#include <thread>

static std::mutex pose_lock;

static void until_steady(int64_t ns)
{
    using std::chrono::nanoseconds;
    using std::chrono::steady_clock;
    std::this_thread::sleep_until(steady_clock::time_point(nanoseconds(ns)));
}

static void loop(const char *name, int64_t period, int fifo, int cpu, int64_t own, int64_t held)
{
    struct task *task = be_task(name, "periodic", period, fifo, cpu);
    int64_t release = start_ns;
    for (; release < start_ns + length_ns; release += period) {
        until_steady(release);
        job_begins(task);
        work(own);
        {
            std::lock_guard<std::mutex> guard(pose_lock);
            struct section *at = section_begins(task, "pose_lock", __LINE__ - 1);
            work(held);
            section_ends(at);
        }
        job_ends(task);
    }
    until_steady(release);
    task_ends(task);
}

int main(int argc, char **argv)
{
    setup(argc, argv);
    std::thread estimate(loop, "estimate", 10 * MS, 0, 0, MS, 300 * US);
    std::thread plan(loop, "plan", 50 * MS, 0, 1, 5 * MS, 600 * US);
    estimate.join();
    plan.join();
    return print_truth();
}
