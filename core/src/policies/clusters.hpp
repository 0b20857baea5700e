// Which processors a task may use: all, those of its cluster, or one.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "deadbeat/sched/policy.hpp"

namespace deadbeat::sched {

enum class Scope : int { global, clustered, partitioned };

// Processors [k c, (k+1) c) form cluster k; its members are the tasks bound to it.
class Clusters {
  public:
    // Sizes and, where tasks are bound, the partition. "" or why not.
    std::string prepare(const Context& context, Scope scope, bool fixed_priority);
    // Sizes alone: members stay empty.
    std::string divide(const Context& context, Scope scope);

    std::int32_t size() const { return size_; }
    std::int32_t count() const { return count_; }
    std::int32_t first(std::int32_t cluster) const { return cluster * size_; }
    std::span<const std::int32_t> members(std::int32_t cluster) const {
        return members_[static_cast<std::size_t>(cluster)];
    }
    const std::vector<std::int32_t>& placed() const { return placed_; }
    const std::vector<std::string>& remarks() const { return remarks_; }

    // Of jobs that have their deadlines as keys; policies with levels set those.
    JobOrder order() const;

    // Other homes than the partition found.
    void rebind(std::vector<std::int32_t> placed);

  private:
    std::int32_t size_ = 1;
    std::int32_t count_ = 1;
    std::vector<std::vector<std::int32_t>> members_;
    std::vector<std::int32_t> placed_;
    std::vector<std::string> remarks_;
};

}  // namespace deadbeat::sched
