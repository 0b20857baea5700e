#include "periodic.hpp"

namespace deadbeat::sched::periodic {

namespace {

// The first instant from all first arrivals on that lies within no job's time; kNever: none does.
// Nothing: the budget was used up.
std::optional<Time> quiet_instant(std::span<const Task> tasks, Time cycle, Steps& steps) {
    Time instant = 0;
    for (const Task& task : tasks) {
        instant = std::max(instant, task.offset);
    }
    const Time last = instant + cycle;
    for (bool moved = true; moved;) {
        moved = false;
        for (const Task& task : tasks) {
            const Time since = (instant - task.offset) % task.period;
            if (since > 0 && since < task.deadline) {
                instant += task.deadline - since;
                moved = true;
            }
        }
        if (instant > last) {
            return kNever;
        }
        if (!steps.spend(tasks.size())) {
            return std::nullopt;
        }
    }
    return instant;
}

void add_nodes(const System& system, std::size_t task, std::int32_t rank, Jobs& jobs) {
    const Time most = system.tasks[task].wcet;
    const auto least = details_of(system, task, DetailKind::bcet);
    const Time shorter = least.empty() ? 0 : most - least[0].a;
    const auto graph = details_of(system, task, DetailKind::node);
    const std::size_t first = jobs.nodes.size();
    jobs.first.push_back(first);
    const Time place = Time{rank} * static_cast<Time>(kNodes);
    if (graph.empty()) {
        jobs.nodes.push_back({.task = task, .least = most - shorter, .most = most, .place = place});
        return;
    }
    for (const Detail& node : graph) {
        jobs.nodes.push_back({.task = task,
                              .least = std::max<Time>(1, node.b - shorter),
                              .most = node.b,
                              .place = place + node.a});
    }
    for (const Detail& edge : details_of(system, task, DetailKind::edge)) {
        const std::size_t from = first + at(edge.a), to = first + at(edge.b);
        if ((jobs.nodes[to].needs >> edge.a & 1U) == 0) {
            jobs.nodes[to].before.push_back(from);
        }
        jobs.nodes[to].needs |= std::uint64_t{1} << edge.a;
        jobs.nodes[from].leads |= std::uint64_t{1} << edge.b;
    }
    jobs.graphs = true;
    jobs.relaxed = jobs.relaxed || (shorter > 0 && graph.size() > 1 &&
                                    most - shorter > static_cast<Time>(graph.size()));
}

}  // namespace

TestVerdict make(const System& system, const TestOptions& options, bool edf, Jobs& jobs) {
    if (options.blocking > 0) {
        return not_applicable("tasks may be blocked");
    }
    if (!constrained(system)) {
        return kNotConstrained;
    }
    std::vector<std::int32_t> rank = tie_rank(system, options.ties);
    if (!edf) {
        const auto order = priority_order(system, options);
        for (std::size_t place = 0; place < order.size(); place++) {
            rank[at(order[place])] = static_cast<std::int32_t>(place);
        }
        rank.resize(order.size());
    }
    if (rank.empty()) {
        return kUnknownOrder;
    }
    jobs.tasks = system.tasks;
    jobs.edf = edf;
    for (std::size_t i = 0; i < system.tasks.size(); i++) {
        if (details_of(system, i, DetailKind::node).size() > kNodes) {
            return not_applicable("a graph has more than 64 nodes");
        }
        jobs.jitter.push_back(system.extra(i).jitter);
        add_nodes(system, i, rank[i], jobs);
    }
    jobs.first.push_back(jobs.nodes.size());
    const auto cycle = hyperperiod(system);
    if (!cycle || *cycle > kTimeMax / 4) {
        return kTooLarge;
    }
    Steps steps(options);
    const auto quiet = quiet_instant(system.tasks, *cycle, steps);
    if (!quiet) {
        return kBudget;
    }
    if (*quiet == kNever) {
        return not_applicable("with these offsets some job is always due");
    }
    jobs.end = *quiet + *cycle;
    return kAccepted;
}

}  // namespace deadbeat::sched::periodic
