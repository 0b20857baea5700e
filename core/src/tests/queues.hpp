// What a job waits for in the queues of locks: the longest requests that others can issue.
#pragma once

#include "shared.hpp"

namespace deadbeat::sched::analysis {

class Queues {
  public:
    explicit Queues(const System& system) : tasks_(system.tasks) {
        for (const Section& section : system.sections) {
            locks_.resize(std::max(locks_.size(), at(section.lock) + 1));
            locks_[at(section.lock)].push_back(section);
        }
        for (auto& sections : locks_) {
            std::ranges::sort(sections, std::greater(), &Section::length);
        }
    }

    std::size_t locks() const { return locks_.size(); }
    // Longest first.
    const std::vector<Section>& of(std::size_t lock) const { return locks_[lock]; }

    // Of a job of `task` for `lock`.
    Wide requests(std::size_t task, std::size_t lock) const {
        Wide sum = 0;
        for (const Section& section : locks_[lock]) {
            sum += at(section.task) == task ? section.count : 0;
        }
        return sum;
    }

    // Jobs of j that are pending at some time while one of i is, by their responses.
    Wide jobs(std::size_t i, std::size_t j, const std::vector<Time>& response) const {
        return (Wide{response[i]} + response[j] + tasks_[j].period - 1) / tasks_[j].period;
    }

    // The longest requests for `lock` of others than i while it is pending: at most left[group] of
    // the tasks of a group, and `each` of a task.
    Wide wait(std::size_t i, std::size_t lock, const std::vector<Time>& response,
              const std::vector<std::int32_t>& groups, std::vector<Wide> left, Wide each) const {
        std::vector<Wide> taken(tasks_.size());
        Wide sum = 0;
        for (const Section& section : locks_[lock]) {
            const auto j = at(section.task);
            if (j != i) {
                Wide& room = left[at(groups[j])];
                const Wide count =
                    std::min({room, each - taken[j], jobs(i, j, response) * section.count});
                sum += count * section.length;
                room -= count;
                taken[j] += count;
            }
        }
        return sum;
    }

  private:
    std::span<const Task> tasks_;
    std::vector<std::vector<Section>> locks_;
};

}  // namespace deadbeat::sched::analysis
