// The largest factor on all C under which tasks that only compute stay schedulable on one
// processor, exactly.
#include "shared.hpp"

namespace deadbeat::sched {

namespace {

using namespace analysis;

// Sign of a - b, of positive fractions below 2^62 each.
bool less(const Scale& a, const Scale& b) {
    return Wide{a.numerator} * b.denominator < Wide{b.numerator} * a.denominator;
}

// Of tasks with D <= T: at some instant until its deadline there must be room for all work that is
// as urgent; only ends of periods and the deadline need be tried (Lehoczky, Sha and Ding, RTSS
// 1989; Bini, Di Natale and Buttazzo, Real-Time Systems 39, 2008).
Scale fp_scale(const System& system, const std::vector<std::int32_t>& order, Steps& steps) {
    Scale scale{kNever, 1};
    for (std::size_t place = 0; place < order.size(); place++) {
        const Task& own = system.tasks[at(order[place])];
        const std::span above = std::span(order).first(place);
        Scale best{0, 1};
        const auto room = [&](Time t) {
            Wide work = own.wcet;
            for (const std::int32_t i : above) {
                const Task& task = system.tasks[at(i)];
                work += Wide{(t + task.period - 1) / task.period} * task.wcet;
            }
            const Scale found{t, static_cast<Time>(std::min<Wide>(work, kNever))};
            best = less(best, found) ? found : best;
        };
        room(own.deadline);
        for (const std::int32_t i : above) {
            const Time period = system.tasks[at(i)].period;
            for (Time t = period; t < own.deadline; t += period) {
                if (!steps.spend(place + 1)) {
                    return {};
                }
                room(t);
            }
        }
        scale = less(best, scale) ? best : scale;
    }
    return scale;
}

// The least of 1 / U and t / demand(t), over deadlines t. As demand(t) <= U t + slack, no t has
// less than t / (U t + slack), which grows; and demand repeats with the hyper-period.
Scale edf_scale(const System& system, Steps& steps) {
    const auto cycle = hyperperiod(system);
    if (!cycle) {
        return {};
    }
    Wide work = 0;
    long double slack = 0, load = 0;
    Time end = *cycle;
    std::vector<Time> due;
    for (const Task& task : system.tasks) {
        work += Wide{*cycle / task.period} * task.wcet;
        const long double share =
            static_cast<long double>(task.wcet) / static_cast<long double>(task.period);
        load += share;
        slack += share * static_cast<long double>(std::max<Time>(task.period - task.deadline, 0));
        end = std::max(end, *cycle + task.deadline);
        due.push_back(task.deadline);
    }
    if (work > kTimeMax || end > kTimeMax) {
        return {};
    }
    Scale scale{*cycle, static_cast<Time>(work)};
    // An error of long doubles lets it go on for longer, never end before its time.
    constexpr long double kSure = 1 + 1e-12L;
    for (Wide demand = 0; slack > 0;) {
        const auto next = std::ranges::min_element(due);
        const Time t = *next;
        const long double found =
            static_cast<long double>(scale.numerator) / static_cast<long double>(scale.denominator);
        if (t > end || static_cast<long double>(t) >=
                           found * (load * static_cast<long double>(t) + slack) * kSure) {
            break;
        }
        if (!steps.spend(due.size())) {
            return {};
        }
        const Task& task = system.tasks[static_cast<std::size_t>(next - due.begin())];
        demand += task.wcet;
        *next += task.period;
        const Scale there{t, static_cast<Time>(demand)};
        scale = less(there, scale) ? there : scale;
    }
    return scale;
}

}  // namespace

Scale largest_scale(const System& system, const TestOptions& options, bool edf) {
    Steps steps(options);
    if (!sums_fit(system) || system.processors > 1 || beyond(system) != kNothing) {
        return {};
    }
    if (edf) {
        return edf_scale(system, steps);
    }
    const auto order = priority_order(system, options);
    return order.empty() || !constrained(system) ? Scale{} : fp_scale(system, order, steps);
}

}  // namespace deadbeat::sched
