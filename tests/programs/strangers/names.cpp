/* Threads without names of their own; locks on the heap, and two of one name, in this file and names2.cpp. */
#include <mutex>
#include <thread>
#include <unistd.h>

void estimate();

namespace
{
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

class Estimator
{
    std::mutex m_;

  public:
    void update()
    {
        std::lock_guard<std::mutex> held(m_);
        usleep(20);
    }
};

void vision(Estimator &estimator)
{
    for (int job = 0; job < 60; job++) {
        usleep(10000);
        pthread_mutex_lock(&lock);
        estimate();
        pthread_mutex_unlock(&lock);
        estimator.update();
    }
}

template <typename Step> void control(Estimator &estimator, Step step)
{
    for (Step job = 0; job < 120; job += step) {
        usleep(5000);
        estimator.update();
    }
}
} // namespace

int main()
{
    auto *estimator = new Estimator;
    std::thread first(control<int>, std::ref(*estimator), 1), second(vision, std::ref(*estimator)),
        third([&] {
            for (int job = 0; job < 80; job++)
                usleep(8000);
        });
    first.join();
    second.join();
    third.join();
}
