// Tasks that are directed acyclic graphs of nodes; of a task without one C is its only node. The
// length is that of the longest path, the volume C the sum of all nodes.
//
// dag-graham: one task, alone on m processors, under any scheduler that leaves none idle while a
// node is ready. Whenever not all are busy a node of a longest path executes, so the rest of the
// volume takes at most 1 / m of itself: R = length + (volume - length) / m (Graham, SIAM Journal on
// Applied Mathematics 17, 1969), also where nodes take less.
//
// dag-federated: a task with C > D gets the least number of processors for itself with which that
// is at most D; the others are executed node by node, each on one of the processors that are left
// (Li, Chen, Agrawal, Lu, Gill and Saifullah, ECRTS 2014), which p-edf places and tests.
#include "shared.hpp"

namespace deadbeat::sched::dag {

namespace {

using namespace analysis;

struct Shape {
    Wide length = 0, volume = 0;

    Wide response(Wide processors) const {
        return length + (volume - length + processors - 1) / processors;
    }
    // Processors it needs for itself; 0: no number of them will do.
    Wide processors(Time deadline) const {
        return volume <= deadline   ? 1
               : length >= deadline ? 0
                                    : (volume - length - 1) / (deadline - length) + 1;
    }
};

Shape shape_of(const System& system, std::size_t task) {
    const auto nodes = details_of(system, task, DetailKind::node);
    if (nodes.empty()) {
        return {system.tasks[task].wcet, system.tasks[task].wcet};
    }
    const auto given = details_of(system, task, DetailKind::edge);
    std::vector<Detail> edges(given.begin(), given.end());
    std::ranges::sort(edges, {}, &Detail::a);
    std::vector<Wide> starts(nodes.size());
    Shape shape;
    auto edge = edges.begin();
    for (const Detail& node : nodes) {  // edges lead to later ones
        const Wide end = starts[at(node.a)] + node.b;
        for (; edge != edges.end() && edge->a == node.a; edge++) {
            starts[at(edge->b)] = std::max(starts[at(edge->b)], end);
        }
        shape.length = std::max(shape.length, end);
        shape.volume += node.b;
    }
    return shape;
}

TestVerdict graham(const System& system, const TestOptions&, std::span<Time> bounds) {
    if (system.tasks.size() != 1) {
        return not_applicable("more than one task");
    }
    if (!constrained(system)) {
        return kNotConstrained;
    }
    const Wide response = shape_of(system, 0).response(system.processors);
    if (response > system.tasks[0].deadline) {
        return kTooLong;
    }
    if (!bounds.empty()) {
        bounds[0] = static_cast<Time>(response);
    }
    return kAccepted;
}

TestVerdict federated(const System& system, const TestOptions& options, std::span<Time> bounds) {
    if (!constrained(system)) {
        return kNotConstrained;
    }
    std::vector<std::int32_t> light;
    Wide left = system.processors;
    for (std::size_t i = 0; i < system.tasks.size(); i++) {
        const Shape shape = shape_of(system, i);
        if (shape.volume <= system.tasks[i].deadline) {
            light.push_back(static_cast<std::int32_t>(i));
            continue;
        }
        const Wide own = shape.processors(system.tasks[i].deadline);
        left -= own == 0 ? Wide{system.processors} + 1 : own;
        if (left < 0) {
            return kTooLong;
        }
        if (!bounds.empty()) {
            bounds[i] = static_cast<Time>(shape.response(own));
        }
    }
    if (light.empty()) {
        return kAccepted;
    }
    if (left == 0) {
        return not_accepted("no processor is left for tasks that need no more than one");
    }
    const auto found = Subsystem(system, light, static_cast<std::int32_t>(left))
                           .run(find_test("p-edf")->test, options, bounds);
    return found.answer == TestAnswer::refuted ? not_accepted(found.reason) : found;
}

const TestRegistrar registrar_graham({.name = "dag-graham",
                                      .title = "A graph of nodes, alone on its processors",
                                      .reference = "Graham, SIAM Journal on Applied Mathematics "
                                                   "17, 1969",
                                      .scheduler = "g-edf",
                                      .model = "sporadic",
                                      .ties = "any",
                                      .deadlines = "constrained",
                                      .kind = TestKind::sufficient,
                                      .cost = 3,
                                      .models = kDag},
                                     graham);

const TestRegistrar registrar_federated(
    {.name = "dag-federated",
     .title = "Graphs on processors of their own, the rest partitioned",
     .reference = "Li et al., ECRTS 2014",
     .scheduler = "p-edf+federated",
     .model = "sporadic",
     .ties = "any",
     .deadlines = "constrained",
     .kind = TestKind::sufficient,
     .cost = 14,
     .models = kDag},
    federated);

}  // namespace

}  // namespace deadbeat::sched::dag
