#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bind.hpp"
#include "deadbeat/sched/locks_sim.hpp"

namespace deadbeat::bind {

namespace {

using namespace sched;

using ThreeArray = nb::ndarray<const std::int64_t, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu>;

static_assert(sizeof(locks::Job) == locks::kJobFields * sizeof(Time));
static_assert(sizeof(locks::Part) == locks::kPartFields * sizeof(Time));

void require_simulated(const System& system, const locks::Scheduling& how) {
    require_sound(system);
    const std::string refusal = locks::refusal(system, how);
    if (!refusal.empty()) {
        throw std::invalid_argument(refusal);
    }
}

locks::Drawing drawing_of(const System& system, std::int64_t horizon, std::int64_t window,
                          std::uint64_t seed) {
    constexpr std::int64_t kMost = 10'000'000;
    if (horizon < 0 || window < 0 || window > kTimeMax) {
        throw std::invalid_argument("horizon and window must be 0 or more");
    }
    std::int64_t jobs = 0;
    for (const Task& task : system.tasks) {
        jobs += std::min(horizon / task.period, kMost);
    }
    if (jobs > kMost) {
        throw std::invalid_argument("more than 10,000,000 jobs to the horizon, lower it");
    }
    return {horizon, window, seed};
}

locks::Pattern pattern_of(const System& system, const ThreeArray& jobs, const ThreeArray& parts) {
    locks::Pattern pattern;
    const auto* first = reinterpret_cast<const locks::Job*>(jobs.data());
    pattern.jobs.assign(first, first + jobs.shape(0));
    const auto* part = reinterpret_cast<const locks::Part*>(parts.data());
    pattern.parts.assign(part, part + parts.shape(0));
    Time release = 0;
    for (const locks::Job& job : pattern.jobs) {
        if (job.task < 0 || at(job.task) >= system.tasks.size() || job.release < release ||
            job.arrival > job.release) {
            throw std::invalid_argument("jobs: by release, of tasks there are");
        }
        release = job.release;
    }
    std::int64_t used = 0, next = 0;
    for (const Section& section : system.sections) {
        used = std::max(used, section.lock + 1);
    }
    for (const locks::Part& each : pattern.parts) {
        if (each.job != next && each.job != next - 1) {
            throw std::invalid_argument("parts: of each job, in their order");
        }
        if (each.length < 1 || each.what < locks::kStretch || each.what >= used) {
            throw std::invalid_argument("parts: of a lock that a task uses, 1 or longer");
        }
        next = each.job + 1;
    }
    if (next != static_cast<std::int64_t>(pattern.jobs.size())) {
        throw std::invalid_argument("parts: of each job, in their order");
    }
    return pattern;
}

nb::tuple draw_one(std::int32_t processors, const TaskArray& tasks, const SectionArray& sections,
                   const FourArray& extras, std::int64_t horizon, std::int64_t window,
                   std::uint64_t seed, std::uint64_t number) {
    const System system = system_of(processors, tasks, sections, extras);
    require_simulated(system, {"g-fp", "none"});
    locks::Pattern pattern;
    locks::draw(system, drawing_of(system, horizon, window, seed), number, pattern);
    return nb::make_tuple(array_of(reinterpret_cast<const std::int64_t*>(pattern.jobs.data()),
                                   pattern.jobs.size(), locks::kJobFields),
                          array_of(reinterpret_cast<const std::int64_t*>(pattern.parts.data()),
                                   pattern.parts.size(), locks::kPartFields));
}

nb::object responses_of(std::int32_t processors, const TaskArray& tasks,
                        const SectionArray& sections, const FourArray& extras,
                        const std::string& policy, const std::string& protocol,
                        const ThreeArray& jobs, const ThreeArray& parts, bool together) {
    const System system = system_of(processors, tasks, sections, extras);
    const locks::Scheduling how{policy, protocol};
    require_simulated(system, how);
    const auto found = locks::responses(system, how, pattern_of(system, jobs, parts), together);
    return array_of(found.data(), found.size());
}

nb::object worst_of(std::int32_t processors, const TaskArray& tasks, const SectionArray& sections,
                    const FourArray& extras, const std::string& policy, const std::string& protocol,
                    std::int64_t horizon, std::int64_t window, std::uint64_t seed,
                    std::uint64_t first, std::uint64_t patterns) {
    const System system = system_of(processors, tasks, sections, extras);
    const locks::Scheduling how{policy, protocol};
    require_simulated(system, how);
    const locks::Drawing drawing = drawing_of(system, horizon, window, seed);
    std::vector<Time> found;
    {
        nb::gil_scoped_release unlocked;
        found = locks::worst(system, how, drawing, first, patterns);
    }
    return array_of(found.data(), found.size());
}

// As of the simulator, and `all` jobs and `holds`.
nb::dict decide_drawn(std::int32_t processors, const TaskArray& tasks, const SectionArray& sections,
                      const FourArray& extras, const FourArray& details, const std::string& policy,
                      const std::string& protocol, std::int64_t horizon, std::int64_t window,
                      std::uint64_t seed, std::uint64_t patterns, std::int64_t budget) {
    static_assert(sizeof(locks::Hold) == locks::kHoldFields * sizeof(std::int64_t));
    System system = system_of(processors, tasks, sections, extras);
    system.details = details_of(details);
    const locks::Scheduling how{policy, protocol};
    require_simulated(system, how);
    const locks::Drawing longer = drawing_of(system, horizon, 0, seed);
    const locks::Drawing dense = drawing_of(system, std::min(window, horizon), window, seed);
    locks::Found found;
    {
        nb::gil_scoped_release unlocked;
        found = locks::decide(system, how, longer, dense, patterns, budget);
    }
    nb::dict answer = verdict_dict(found.verdict);
    answer["all"] =
        array_of(reinterpret_cast<const std::int64_t*>(found.all.data()), found.all.size(), 6);
    answer["holds"] = array_of(reinterpret_cast<const std::int64_t*>(found.holds.data()),
                               found.holds.size(), locks::kHoldFields);
    return answer;
}

}  // namespace

void bind_locks(nb::module_& m) {
    m.def("lock_policies", &locks::policies);
    m.def("lock_protocols", &locks::protocols);
    m.def("decide_locks", &decide_drawn, nb::arg("processors"), nb::arg("tasks"),
          nb::arg("sections"), nb::arg("extras"), nb::arg("details"), nb::arg("policy"),
          nb::arg("protocol"), nb::arg("horizon"), nb::arg("window"), nb::arg("seed"),
          nb::arg("patterns"), nb::arg("budget"),
          nb::sig("def decide_locks(processors: int, tasks: numpy.typing.NDArray[numpy.int64], "
                  "sections: numpy.typing.NDArray[numpy.int64], extras: "
                  "numpy.typing.NDArray[numpy.int64], details: "
                  "numpy.typing.NDArray[numpy.int64], policy: str, protocol: str, horizon: int, "
                  "window: int, seed: int, patterns: int, budget: int) -> dict[str, typing.Any]"));
    m.def("draw_locks", &draw_one, nb::arg("processors"), nb::arg("tasks"), nb::arg("sections"),
          nb::arg("extras"), nb::arg("horizon"), nb::arg("window"), nb::arg("seed"),
          nb::arg("number"),
          nb::sig("def draw_locks(processors: int, tasks: numpy.typing.NDArray[numpy.int64], "
                  "sections: numpy.typing.NDArray[numpy.int64], extras: "
                  "numpy.typing.NDArray[numpy.int64], horizon: int, window: int, seed: int, "
                  "number: int) -> tuple[numpy.typing.NDArray[numpy.int64], "
                  "numpy.typing.NDArray[numpy.int64]]"));
    m.def("simulate_locks", &responses_of, nb::arg("processors"), nb::arg("tasks"),
          nb::arg("sections"), nb::arg("extras"), nb::arg("policy"), nb::arg("protocol"),
          nb::arg("jobs"), nb::arg("parts"), nb::arg("together"),
          nb::sig("def simulate_locks(processors: int, tasks: numpy.typing.NDArray[numpy.int64], "
                  "sections: numpy.typing.NDArray[numpy.int64], extras: "
                  "numpy.typing.NDArray[numpy.int64], policy: str, protocol: str, jobs: "
                  "numpy.typing.NDArray[numpy.int64], parts: numpy.typing.NDArray[numpy.int64], "
                  "together: bool) -> numpy.typing.NDArray[numpy.int64]"));
    m.def("worst_locks", &worst_of, nb::arg("processors"), nb::arg("tasks"), nb::arg("sections"),
          nb::arg("extras"), nb::arg("policy"), nb::arg("protocol"), nb::arg("horizon"),
          nb::arg("window"), nb::arg("seed"), nb::arg("first"), nb::arg("patterns"),
          nb::sig("def worst_locks(processors: int, tasks: numpy.typing.NDArray[numpy.int64], "
                  "sections: numpy.typing.NDArray[numpy.int64], extras: "
                  "numpy.typing.NDArray[numpy.int64], policy: str, protocol: str, horizon: int, "
                  "window: int, seed: int, first: int, patterns: int) -> "
                  "numpy.typing.NDArray[numpy.int64]"));
}

}  // namespace deadbeat::bind
