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
//
// dag-fp, dag-edf: all tasks on all processors. Whenever no node of i's longest path executes all m
// are busy, with the rest of i or with others: R = length + (volume - length + I) / m. In a window
// x task k has at most floor(y / T) volumes and min(volume, m (y mod T)), with y = x + R_k - volume
// / m: its first job as late and as dense as it can be, the others as early. Under EDF no job with
// a later deadline is in the way either (Melani, Bertogna, Bonifaci, Marchetti-Spaccamela and
// Buttazzo, IEEE TC 66(2), 2017). Responses begin with D and shrink as long as one does: until a
// deadline is missed for the first time, all hold.
//
// dag-capacity: U <= m / b and length <= D / b, b = (3 + sqrt 5) / 2 (Li et al., ECRTS 2014).
#include <functional>

#include "shared.hpp"

namespace deadbeat::sched::dag {

namespace {

using namespace analysis;

// (3 + sqrt 5) / 2 is below kAbove / kBelow.
constexpr Wide kAbove = 2'618'034, kBelow = 1'000'000;

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

// All tasks on all processors.
class Together {
  public:
    Together(const System& system, const TestOptions& options, bool edf)
        : system_(system), options_(options), edf_(edf), steps_(options) {}

    TestVerdict run(std::span<Time> bounds) {
        const std::size_t n = system_.tasks.size();
        const std::vector<std::int32_t> order = priority_order(system_, options_);
        if (!edf_ && order.empty()) {
            return kUnknownOrder;
        }
        for (std::size_t i = 0; i < n; i++) {
            shapes_.push_back(shape_of(system_, i));
            response_.push_back(system_.tasks[i].deadline);
            order_.push_back(edf_ ? i : at(order[i]));
        }
        std::vector<bool> holds(n);
        for (bool changed = true; changed;) {
            changed = false;
            for (std::size_t place = 0; place < n; place++) {
                const auto found = respond(place);
                if (!steps_.spend(0)) {
                    return kBudget;
                }
                const std::size_t i = order_[place];
                holds[i] = found.has_value();
                if (!found && !edf_) {
                    return kTooLong;
                }
                changed = changed || (found && *found < response_[i]);
                response_[i] = found ? std::min(response_[i], *found) : response_[i];
            }
            changed = changed && edf_;
        }
        if (!std::ranges::all_of(holds, std::identity())) {
            return kTooLong;
        }
        if (!bounds.empty()) {
            std::ranges::copy(response_, bounds.begin());
        }
        return kAccepted;
    }

  private:
    // By the responses of the others so far.
    std::optional<Time> respond(std::size_t place) {
        const std::size_t i = order_[place];
        const Wide m = system_.processors, deadline = system_.tasks[i].deadline;
        const Shape& mine = shapes_[i];
        for (Wide x = mine.length; x <= deadline;) {
            Wide work = mine.volume - mine.length;
            for (std::size_t other = 0; other < (edf_ ? order_.size() : place); other++) {
                const std::size_t k = order_[other];
                if (k != i) {
                    const Wide any = in_window(k, x);
                    work += edf_ ? std::min(any, until_deadline(k, deadline)) : any;
                }
            }
            const Wide next = mine.length + (work + m - 1) / m;
            if (next <= x) {
                return static_cast<Time>(x);
            }
            x = next;
            if (!steps_.spend(order_.size())) {
                return std::nullopt;
            }
        }
        return std::nullopt;
    }

    Wide in_window(std::size_t k, Wide x) const {
        const Wide m = system_.processors, period = system_.tasks[k].period;
        const Wide volume = shapes_[k].volume, y = x + response_[k] - volume / m;
        return y / period * volume + std::min(volume, m * (y % period));
    }

    Wide until_deadline(std::size_t k, Wide window) const {
        const Task& task = system_.tasks[k];
        const Wide m = system_.processors, volume = shapes_[k].volume;
        const Wide jobs =
            window < task.deadline ? Wide{0} : (window - task.deadline) / task.period + 1;
        const Wide left = window - jobs * task.period - (task.deadline - response_[k]);
        return jobs * volume + std::min(volume, m * std::max<Wide>(0, left));
    }

    const System& system_;
    const TestOptions& options_;
    bool edf_;
    Steps steps_;
    std::vector<Shape> shapes_;
    std::vector<Time> response_;
    std::vector<std::size_t> order_;  // most urgent first
};

template <bool edf>
TestVerdict together(const System& system, const TestOptions& options, std::span<Time> bounds) {
    return constrained(system) ? Together(system, options, edf).run(bounds) : kNotConstrained;
}

TestVerdict capacity(const System& system, const TestOptions&, std::span<Time>) {
    FractionSum used;
    for (std::size_t i = 0; i < system.tasks.size(); i++) {
        const Task& task = system.tasks[i];
        const Shape shape = shape_of(system, i);
        if (task.deadline != task.period) {
            return kNotImplicit;
        }
        if (kAbove * shape.length > Wide{task.deadline} * kBelow) {
            return kTooLong;
        }
        used.add(shape.volume * kAbove, task.period);
    }
    return used.compare(Wide{system.processors} * kBelow) > 0
               ? not_accepted("utilisation above m / 2.618034")
               : kAccepted;
}

TestInfo on_all(const char* name, const char* title, const char* scheduler, const char* ties) {
    return {.name = name,
            .title = title,
            .reference = "Melani et al., IEEE TC 66(2), 2017",
            .scheduler = scheduler,
            .model = "sporadic",
            .ties = ties,
            .deadlines = "constrained",
            .kind = TestKind::sufficient,
            .cost = 15,
            .models = kDag};
}

const TestRegistrar registrar_fp(on_all("dag-fp", "Graphs on all processors, fixed priorities",
                                        "g-fp", "given"),
                                 together<false>);
const TestRegistrar registrar_edf(on_all("dag-edf", "Graphs on all processors, EDF", "g-edf",
                                         "any"),
                                  together<true>);
const TestRegistrar registrar_capacity({.name = "dag-capacity",
                                        .title = "Graphs, capacity augmentation bound",
                                        .reference = "Li et al., ECRTS 2014",
                                        .scheduler = "g-edf",
                                        .model = "sporadic",
                                        .ties = "any",
                                        .deadlines = "implicit",
                                        .kind = TestKind::sufficient,
                                        .cost = 3,
                                        .models = kDag},
                                       capacity);

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
