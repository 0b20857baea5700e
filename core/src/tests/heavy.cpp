// EDF-US and fpEDF: some heavy tasks run before all others, which EDF schedules.
//
// Bounds of utilisation, for implicit deadlines:
// EDF-US[m / (2m - 1)]: U <= m^2 / (2m - 1). fpEDF: U <= max(m - (m - 1) u_max, m / 2 + u_max), the
// latter for m >= 2.
//
// By the light tasks, for constrained deadlines: h <= m heavy tasks always have a processor, and
// leave at least m - h of them to the others at all times. GFB and the response-time analysis only
// use that a job that waits sees (here) m - h processors busy with other light tasks' work, so they
// prove the light tasks on m - h processors. For implicit deadlines this accepts all that the bound
// of EDF-US does: U - h m / (2m - 1) <= m (m - h) / (2m - 1), which GFB accepts on m - h where no
// task is above m / (2m - 1).
#include "shared.hpp"

namespace deadbeat::sched {

namespace {

using namespace analysis;

TestVerdict edf_us_bound(const System& system, const TestOptions&, std::span<Time>) {
    if (!implicit(system)) {
        return kNotImplicit;
    }
    if (!fits_deadlines(system.tasks)) {
        return kTooLong;
    }
    const Wide m = system.processors;
    FractionSum sum;  // (2m - 1) U
    for (const Task& task : system.tasks) {
        sum.add((2 * m - 1) * task.wcet, task.period);
    }
    return sum.compare(m * m) <= 0 ? kAccepted : not_accepted("");
}

TestVerdict fpedf_bound(const System& system, const TestOptions&, std::span<Time>) {
    if (!implicit(system)) {
        return kNotImplicit;
    }
    if (!fits_deadlines(system.tasks)) {
        return kTooLong;
    }
    const Wide m = system.processors;
    const Task* top = system.tasks.data();
    FractionSum twice;  // 2 U - 2 u_max
    FractionSum all;    // U + (m - 1) u_max
    for (const Task& task : system.tasks) {
        twice.add(2 * static_cast<Wide>(task.wcet), task.period);
        all.add(task.wcet, task.period);
        if (compare_fractions(task.wcet, task.period, top->wcet, top->period) > 0) {
            top = &task;
        }
    }
    twice.add(-2 * static_cast<Wide>(top->wcet), top->period);
    all.add((m - 1) * top->wcet, top->period);
    return all.compare(m) <= 0 || (m > 1 && twice.compare(m) <= 0) ? kAccepted : not_accepted("");
}

// The tasks above numerator / denominator are heavy, at most `most` of them, the largest first.
struct Split {
    std::vector<std::int32_t> heavy, light;
    bool ambiguous;  // which of equally large ones are heavy
};

Split split(const System& system, Time numerator, Time denominator, std::size_t most) {
    const auto share = [&](std::int32_t i) -> const Task& {
        return system.tasks[static_cast<std::size_t>(i)];
    };
    Split found{{}, {}, false};
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(system.tasks.size()); i++) {
        const bool above =
            compare_fractions(share(i).wcet, share(i).period, numerator, denominator) > 0;
        (above ? found.heavy : found.light).push_back(i);
    }
    std::ranges::stable_sort(found.heavy, [&](std::int32_t a, std::int32_t b) {
        return compare_fractions(share(a).wcet, share(a).period, share(b).wcet, share(b).period) >
               0;
    });
    while (found.heavy.size() > most) {
        const std::int32_t left = found.heavy.back();
        found.heavy.pop_back();
        found.light.push_back(left);
        found.ambiguous =
            found.heavy.size() == most && most > 0 &&
            compare_fractions(share(left).wcet, share(left).period, share(found.heavy.back()).wcet,
                              share(found.heavy.back()).period) == 0;
    }
    std::ranges::sort(found.light);
    return found;
}

TestVerdict by_light(const System& system, const TestOptions& options, std::span<Time> bounds,
                     const Split& tasks) {
    if (!constrained(system)) {
        return kNotConstrained;
    }
    if (!fits_deadlines(system.tasks)) {
        return kTooLong;
    }
    if (tasks.ambiguous) {
        return not_accepted("which of equal tasks run first depends on ties");
    }
    const auto m = static_cast<std::size_t>(system.processors);
    if (tasks.heavy.size() > m || (tasks.heavy.size() == m && !tasks.light.empty())) {
        return not_accepted("the heavy tasks leave no processor");
    }
    if (!bounds.empty()) {
        for (const std::int32_t i : tasks.heavy) {
            bounds[static_cast<std::size_t>(i)] = system.tasks[static_cast<std::size_t>(i)].wcet;
        }
    }
    if (tasks.light.empty()) {
        return kAccepted;
    }
    const Subsystem rest(system, tasks.light, static_cast<std::int32_t>(m - tasks.heavy.size()));
    const TestVerdict quick = rest.run(gfb, options, {});
    if (quick.answer == TestAnswer::accepted && bounds.empty()) {
        return quick;
    }
    const TestVerdict found = rest.run(rta_edf, options, bounds);
    return quick.answer == TestAnswer::accepted ? quick : found;
}

TestVerdict edf_us_light(const System& system, const TestOptions& options, std::span<Time> bounds) {
    const Time m = system.processors;
    const Split tasks = split(system, m, 2 * m - 1, system.tasks.size());
    return by_light(system, options, bounds, tasks);
}

// fpEDF raises at most m - 1 tasks.
TestVerdict fpedf_light(const System& system, const TestOptions& options, std::span<Time> bounds) {
    return by_light(system, options, bounds,
                    split(system, 1, 2, static_cast<std::size_t>(system.processors) - 1));
}

TestInfo info(const char* name, const char* title, const char* reference, const char* scheduler,
              const char* deadlines, int cost, bool whole_instants = false) {
    return {.name = name,
            .title = title,
            .reference = reference,
            .scheduler = scheduler,
            .model = "sporadic",
            .ties = "any",
            .deadlines = deadlines,
            .kind = TestKind::sufficient,
            .cost = cost,
            .whole_instants = whole_instants};
}

constexpr const char* kUs = "Srinivasan and Baruah, Information Processing Letters 84(2), 2002";
constexpr const char* kFpEdf = "Baruah, IEEE Transactions on Computers 53(6), 2004";
constexpr const char* kLight =
    "Goossens, Funk and Baruah, 2003, and Bertogna and Cirinei, 2007, on the processors that the "
    "heavy tasks leave";

const TestRegistrar us_bound(info("edf-us-bound", "EDF-US[m/(2m-1)] bound", kUs, "edf-us",
                                  "implicit", 0),
                             edf_us_bound);
const TestRegistrar fp_bound(info("fpedf-bound", "fpEDF bound", kFpEdf, "fpedf", "implicit", 0),
                             fpedf_bound);
const TestRegistrar us_light(info("edf-us-light", "EDF-US[m/(2m-1)] by its light tasks", kLight,
                                  "edf-us", "constrained", 20, true),
                             edf_us_light);
const TestRegistrar fp_light(info("fpedf-light", "fpEDF by its light tasks", kLight, "fpedf",
                                  "constrained", 20, true),
                             fpedf_light);

}  // namespace

}  // namespace deadbeat::sched
