// BAK. For every task k, with l = C_k / D_k: sum over all i of min(1, b_i) <= m (1 - l) + l, where
// b_i = u_i (1 + (T_i - D_i) / D_k) + max(0, C_i - l T_i) / D_k. (The second term applies to tasks
// with u_i > l, which is where it is positive.)
//
// Multiplied by D_k here: sum min(D_k, C_i (D_k + T_i - D_i) / T_i + max(0, C_i - C_k T_i / D_k))
// <= m (D_k - C_k) + C_k, so that every denominator is one period or deadline.
#include "shared.hpp"

namespace deadbeat::sched::bak {

namespace {

using namespace analysis;

// Sign of a / b + c / d - bound, all of at most 60 bits but the numerators of at most 122.
int compare_pair(Wide a, Time b, Wide c, Time d, Time bound) {
    const Wide whole = a / b + c / d;
    const Wide missing = static_cast<Wide>(bound) - whole;
    const Wide rest = (a % b) * d + (c % d) * b;
    const Wide unit = static_cast<Wide>(b) * d;
    if (missing < 0 || missing >= 2) {
        return missing < 0 ? 1 : -1;
    }
    const Wide wanted = missing * unit;
    return rest < wanted ? -1 : (rest > wanted ? 1 : 0);
}

bool passes_exactly(const System& system, const Task& k) {
    FractionSum sum;
    for (const Task& task : system.tasks) {
        const Wide carried = static_cast<Wide>(task.wcet) *
                             (static_cast<Wide>(k.deadline) + task.period - task.deadline);
        const Wide excess =
            static_cast<Wide>(task.wcet) * k.deadline - static_cast<Wide>(k.wcet) * task.period;
        const Wide added = std::max<Wide>(0, excess);
        if (compare_pair(carried, task.period, added, k.deadline, k.deadline) >= 0) {
            sum.add(k.deadline, 1);
        } else {
            sum.add(carried, task.period);
            sum.add(added, k.deadline);
        }
    }
    return sum.compare(static_cast<Wide>(system.processors) * (k.deadline - k.wcet) + k.wcet) <= 0;
}

bool passes(const System& system, const Task& k) {
    const auto d = static_cast<double>(k.deadline);
    const auto c = static_cast<double>(k.wcet);
    double sum = 0.0;
    double size = 0.0;  // of what was rounded
    for (const Task& task : system.tasks) {
        const auto wcet = static_cast<double>(task.wcet);
        const auto period = static_cast<double>(task.period);
        const double carried =
            wcet / period * (d + static_cast<double>(task.period - task.deadline));
        const double lost = c * period / d;
        sum += std::min(d, carried + std::max(0.0, wcet - lost));
        size += carried + wcet + lost;
    }
    const double rhs = static_cast<double>(system.processors) * (d - c) + c;
    const int sign = clear_sign(sum, rhs, (size + sum + rhs + d) * rounding(system.tasks.size()));
    return sign == 0 ? passes_exactly(system, k) : sign < 0;
}

TestVerdict run(const System& system, const TestOptions& options, std::span<Time>) {
    if (!constrained(system)) {
        return kNotConstrained;
    }
    if (!fits_deadlines(system.tasks)) {
        return kTooLong;
    }
    Steps steps(options);
    for (const Task& task : system.tasks) {
        if (!steps.spend(system.tasks.size())) {
            return kBudget;
        }
        if (!passes(system, task)) {
            return not_accepted("");
        }
    }
    return kAccepted;
}

const TestRegistrar registrar({.name = "bak",
                               .title = "BAK",
                               .reference = "Baker, RTSS 2003",
                               .scheduler = "g-edf",
                               .model = "sporadic",
                               .ties = "any",
                               .deadlines = "constrained",
                               .kind = TestKind::sufficient,
                               .cost = 5},
                              run);

}  // namespace

}  // namespace deadbeat::sched::bak
