#include "deadbeat/sched/system.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "deadbeat/sched/ties.hpp"

namespace deadbeat::sched {

namespace {

void check(std::vector<std::string>& found, std::size_t task, const char* what, Time value,
           Time least) {
    if (value < least) {
        found.push_back("task " + std::to_string(task) + ": " + what + " is " +
                        std::to_string(value) + ", must be " + std::to_string(least) + " or more");
    } else if (value > kParameterMax) {
        found.push_back("task " + std::to_string(task) + ": " + what + " is " +
                        std::to_string(value) + ", must be at most 2^60");
    }
}

// Whether a detail may follow `before`, the one ahead of it if that is of the same task and kind:
// steps grow from a window of 1 to the period, nodes count from 0, of `nodes` of the task.
bool follows(const System& system, const Detail* before, const Detail& detail, Time nodes) {
    const Task& task = system.tasks[at(detail.task)];
    switch (detail.kind) {
        case DetailKind::step:
            return detail.a <= task.period && detail.b <= kArrivalsMax &&
                   (before == nullptr ? detail.a == 1 && detail.b >= 1
                                      : detail.a > before->a && detail.b > before->b);
        case DetailKind::node:
            return detail.a == nodes && detail.b >= 1 && detail.b <= task.wcet;
        case DetailKind::edge:
            return detail.a >= 0 && detail.a < detail.b && detail.b < nodes;
        case DetailKind::trigger:
            return detail.a >= 0 && at(detail.a) < system.tasks.size();
        case DetailKind::cpu:
            return detail.a >= 0 && detail.a < system.processors;
        case DetailKind::bcet:
            return detail.a >= 1 && detail.a <= task.wcet;
    }
    return false;
}

}  // namespace

std::vector<std::string> defects(const System& system) {
    std::vector<std::string> found;
    if (system.processors < 1 || system.processors > kProcessorsMax) {
        found.push_back("processors is " + std::to_string(system.processors) + ", must be 1 to " +
                        std::to_string(kProcessorsMax));
    }
    if (system.tasks.empty() || system.tasks.size() > kTasksMax) {
        found.push_back("there are " + std::to_string(system.tasks.size()) +
                        " tasks, must be 1 to " + std::to_string(kTasksMax));
    }
    for (std::size_t i = 0; i < system.tasks.size(); i++) {
        const Task& task = system.tasks[i];
        check(found, i, "wcet", task.wcet, 1);
        check(found, i, "period", task.period, 1);
        check(found, i, "deadline", task.deadline, 1);
        check(found, i, "offset", task.offset, 0);
        check(found, i, "home", task.home, -1);
        check(found, i, "budget", task.budget, 0);
        check(found, i, "server_period", task.server_period, 0);
        check(found, i, "server_deadline", task.server_deadline, 0);
    }
    if (!system.extras.empty() && system.extras.size() != system.tasks.size()) {
        found.push_back("extras of " + std::to_string(system.extras.size()) + " tasks");
    }
    for (std::size_t i = 0; i < system.extras.size(); i++) {
        check(found, i, "jitter", system.extras[i].jitter, 0);
        check(found, i, "suspension", system.extras[i].suspension, 0);
        check(found, i, "np_max", system.extras[i].np_max, 0);
        check(found, i, "np_last", system.extras[i].np_last, 0);
        if (std::max(system.extras[i].np_max, system.extras[i].np_last) > system.tasks[i].wcet) {
            found.push_back("task " + std::to_string(i) +
                            ": a stretch without preemption is longer than the wcet");
        }
    }
    for (std::size_t i = 0; i < system.sections.size(); i++) {
        const Section& section = system.sections[i];
        const std::int64_t before = i == 0 ? 0 : system.sections[i - 1].task;
        if (section.task < before || at(section.task) >= system.tasks.size()) {
            found.push_back("section " + std::to_string(i) + ": of task " +
                            std::to_string(section.task) + ", not in order, or not there");
            break;
        }
        check(found, at(section.task), "lock", section.lock, 0);
        check(found, at(section.task), "count", section.count, 1);
        check(found, at(section.task), "length", section.length, 1);
    }
    const Detail* before = nullptr;
    Time nodes = 0;
    for (const Detail& detail : system.details) {
        const bool same = before != nullptr && before->task == detail.task;
        nodes = same ? nodes : 0;
        const bool there = detail.task >= (before == nullptr ? 0 : before->task) &&
                           at(detail.task) < system.tasks.size() &&
                           (!same || detail.kind >= before->kind);
        if (!there || !follows(system, same && before->kind == detail.kind ? before : nullptr,
                               detail, nodes)) {
            found.push_back("detail " + std::to_string(&detail - system.details.data()) +
                            " of task " + std::to_string(detail.task) +
                            ": not in order, or out of range");
            break;
        }
        nodes += detail.kind == DetailKind::node ? 1 : 0;
        before = &detail;
    }
    return found;
}

unsigned beyond(const System& system) {
    unsigned found = system.sections.empty() ? kNothing : kLocks;
    for (const Extra& extra : system.extras) {
        found |= extra.jitter > 0 ? kJitter : kNothing;
        found |= extra.suspension > 0 ? kSuspension : kNothing;
        found |= extra.np_max > 1 || extra.np_last > 1 ? kNonPreemptive : kNothing;
    }
    for (const Detail& detail : system.details) {
        constexpr std::array kKinds{kArrivals, kDag, kDag, kTriggers, kAffinity, kShorter};
        found |= kKinds[at(static_cast<std::int64_t>(detail.kind))];
    }
    return found;
}

std::span<const Detail> details_of(const System& system, std::size_t task, DetailKind kind) {
    const auto key = [](const Detail& detail) { return std::pair(at(detail.task), detail.kind); };
    return std::ranges::equal_range(system.details, std::pair(task, kind), {}, key);
}

const char* ignored(const System& system, unsigned modelled) {
    constexpr std::array kWords{"it ignores locks",           "it ignores jitter",
                                "it ignores suspension",      "it ignores non-preemptive sections",
                                "it ignores arrival curves",  "it ignores DAGs",
                                "it ignores triggered links", "it ignores affinity sets",
                                "it ignores shorter jobs"};
    const unsigned left = beyond(system) & ~modelled;
    return left == 0 ? nullptr : kWords[static_cast<std::size_t>(std::countr_zero(left))];
}

std::optional<Time> hyperperiod(const System& system) {
    std::optional<Time> h = 1;
    for (const Task& task : system.tasks) {
        h = checked_lcm(*h, task.period);
        if (!h) {
            return std::nullopt;
        }
    }
    return h;
}

Time common_divisor(const System& system) {
    Time divisor = 0;
    for (const Task& task : system.tasks) {
        for (const Time value : {task.wcet, task.period, task.deadline, task.offset, task.budget,
                                 task.server_period, task.server_deadline}) {
            divisor = std::gcd(divisor, value);
        }
    }
    return divisor;
}

namespace {

// Sum of C/T as an exact fraction, or false where 128 bits do not hold it.
bool exact_sum(const System& system, Wide& numerator, Wide& denominator) {
    numerator = 0;
    denominator = 1;
    for (const Task& task : system.tasks) {
        Wide a = denominator;
        Wide b = task.period;
        while (b != 0) {
            const Wide rest = a % b;
            a = b;
            b = rest;
        }
        const Wide scale = task.period / a;  // the new denominator's factor
        Wide next = 0;
        Wide scaled = 0;
        Wide part = 0;
        if (__builtin_mul_overflow(denominator, scale, &next) ||
            __builtin_mul_overflow(numerator, scale, &scaled) ||
            __builtin_mul_overflow(static_cast<Wide>(task.wcet), next / task.period, &part) ||
            __builtin_add_overflow(scaled, part, &numerator)) {
            return false;
        }
        denominator = next;
    }
    return true;
}

}  // namespace

int compare_utilisation(const System& system, std::int64_t bound) {
    // Each rounding (two numbers, a quotient, a sum) errs by 2^-53 of what it gives at most.
    double sum = 0;
    for (const Task& task : system.tasks) {
        sum += static_cast<double>(task.wcet) / static_cast<double>(task.period);
    }
    const double error = 0x1p-52 * sum * static_cast<double>(system.tasks.size() + 4);
    const double apart = sum - static_cast<double>(bound);
    if (std::abs(apart) > error) {
        return apart < 0 ? -1 : 1;
    }
    Wide numerator = 0;
    Wide denominator = 1;
    Wide right = 0;
    if (exact_sum(system, numerator, denominator) &&
        !__builtin_mul_overflow(denominator, static_cast<Wide>(bound), &right)) {
        return numerator < right ? -1 : (numerator > right ? 1 : 0);
    }
    // Fractional parts digit by digit, base 2^32. After k digits the sum is known to n units of
    // the last one; equality of sums this wide would need a denominator beyond 2^127, and then
    // 4096 digits without a difference decide it: distinct values differ earlier than
    // 1 / product of periods, and n * 60 bits <= 65535 * 60 bits bound how many digits that takes.
    const std::size_t n = system.tasks.size();
    std::vector<Wide> rest(n);
    Wide whole = 0;
    for (std::size_t i = 0; i < n; i++) {
        whole += system.tasks[i].wcet / system.tasks[i].period;
        rest[i] = system.tasks[i].wcet % system.tasks[i].period;
    }
    // target = bound - whole, as the running remainder in units of the current digit.
    Wide missing = static_cast<Wide>(bound) - whole;
    const std::size_t digits = (n * 60) / 32 + 4;
    for (std::size_t digit = 0; digit <= digits; digit++) {
        if (missing < 0) {
            return 1;
        }
        if (missing > static_cast<Wide>(n)) {
            return -1;  // what is left of the sum is below n units
        }
        missing <<= 32;
        bool any = false;
        for (std::size_t i = 0; i < n; i++) {
            const Wide scaled = rest[i] << 32;
            missing -= scaled / system.tasks[i].period;
            rest[i] = scaled % system.tasks[i].period;
            any = any || rest[i] != 0;
        }
        if (!any) {
            return missing < 0 ? 1 : (missing > 0 ? -1 : 0);
        }
    }
    return missing < 0 ? 1 : (missing > static_cast<Wide>(n) ? -1 : 0);
}

bool constrained(const System& system) {
    return std::ranges::all_of(system.tasks, [](const Task& t) { return t.deadline <= t.period; });
}

bool implicit(const System& system) {
    return std::ranges::all_of(system.tasks, [](const Task& t) { return t.deadline == t.period; });
}

bool synchronous(const System& system) {
    return std::ranges::all_of(system.tasks, [](const Task& t) { return t.offset == 0; });
}

int compare_share(const Task& a, const Task& b) {
    const Wide left = static_cast<Wide>(a.wcet) * b.period;
    const Wide right = static_cast<Wide>(b.wcet) * a.period;
    return left < right ? -1 : (left > right ? 1 : 0);
}

}  // namespace deadbeat::sched
