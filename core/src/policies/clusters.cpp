#include "clusters.hpp"

#include <utility>

#include "deadbeat/sched/partition.hpp"

namespace deadbeat::sched {

std::string Clusters::divide(const Context& context, Scope scope) {
    const std::int32_t m = context.system.processors;
    const std::int32_t asked = context.options->cluster_size;
    if (scope == Scope::clustered && (asked < 1 || m % asked != 0)) {
        return "clusters of " + std::to_string(asked) + " do not divide " + std::to_string(m) +
               " processors";
    }
    size_ = scope == Scope::global ? m : (scope == Scope::partitioned ? 1 : asked);
    count_ = m / size_;
    members_.assign(static_cast<std::size_t>(count_), {});
    return "";
}

std::string Clusters::prepare(const Context& context, Scope scope, bool fixed_priority) {
    std::string refusal = divide(context, scope);
    if (!refusal.empty()) {
        return refusal;
    }
    if (scope == Scope::global) {
        for (std::size_t i = 0; i < context.system.tasks.size(); i++) {
            members_[0].push_back(static_cast<std::int32_t>(i));
        }
        return "";
    }
    const Options& options = *context.options;
    Partition found = place(context.system, options, count_, size_, fixed_priority);
    if (!found.refusal.empty()) {
        return std::move(found.refusal);
    }
    if (found.first_unplaced >= 0 && options.unplaced == "reject") {
        placed_ = std::move(found.cluster);  // -1 tells a verdict that this is a failed partition
        if (options.partition == kAnyPlacement) {
            return "every placement fails";
        }
        return "this placement fails: task " + std::to_string(found.first_unplaced) +
               (size_ == 1 ? " fits on no processor (" : " fits in no cluster (") +
               heuristic_for(options.partition, size_) + ", " + options.order + ", " +
               admission_for(options, size_) + ")";
    }
    for (const std::int32_t task : found.unplaced) {
        const std::int32_t cluster = found.cluster[static_cast<std::size_t>(task)];
        remarks_.push_back("task " + std::to_string(task) +
                           " fits nowhere: " + (size_ == 1 ? "processor " : "cluster ") +
                           std::to_string(cluster) + ", the least utilised, takes it");
    }
    rebind(std::move(found.cluster));
    return "";
}

void Clusters::rebind(std::vector<std::int32_t> placed) {
    placed_ = std::move(placed);
    members_.assign(static_cast<std::size_t>(count_), {});
    for (std::size_t i = 0; i < placed_.size(); i++) {
        members_[static_cast<std::size_t>(placed_[i])].push_back(static_cast<std::int32_t>(i));
    }
}

JobOrder Clusters::order() const {
    JobOrder order;
    order.processors = size_;
    order.members = members_;
    std::size_t tasks = 0;
    for (const auto& members : members_) {
        tasks += members.size();
    }
    order.level.assign(tasks, std::nullopt);
    return order;
}

}  // namespace deadbeat::sched
