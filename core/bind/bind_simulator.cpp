#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>

#include "bind.hpp"
#include "deadbeat/sched/policy.hpp"
#include "deadbeat/sched/ties.hpp"
#include "deadbeat/sched/verdict.hpp"

namespace deadbeat::bind {

namespace {

using namespace sched;

constexpr Time none_as(Time value) { return value == kNever ? -1 : value; }

// Columns of TaskMetrics, as the Python side names them. Sums as doubles: they are for means.
nb::dict metrics_of(const Result& result) {
    const std::size_t n = result.tasks.size();
    nb::dict columns;
    const auto integers = [&](const char* name, auto get) {
        std::vector<std::int64_t> values(n);
        for (std::size_t i = 0; i < n; i++) {
            values[i] = get(result.tasks[i]);
        }
        columns[name] = array_of(values.data(), n);
    };
    const auto reals = [&](const char* name, auto get) {
        std::vector<double> values(n);
        for (std::size_t i = 0; i < n; i++) {
            values[i] = static_cast<double>(get(result.tasks[i]));
        }
        columns[name] = array_of(values.data(), n);
    };
    using M = TaskMetrics;
    integers("released", [](const M& m) { return m.released; });
    integers("completed", [](const M& m) { return m.completed; });
    integers("judged", [](const M& m) { return m.judged; });
    integers("missed", [](const M& m) { return m.missed; });
    integers("response_min", [](const M& m) { return none_as(m.response_min); });
    integers("response_max", [](const M& m) { return m.response_max; });
    integers("tardiness_max", [](const M& m) { return m.tardiness_max; });
    integers("slack_min", [](const M& m) { return m.slack_min; });  // kNever: none completed
    integers("preemptions", [](const M& m) { return m.preemptions; });
    integers("migrations", [](const M& m) { return m.migrations; });
    integers("cross_cluster", [](const M& m) { return m.cross_cluster; });
    integers("task_migrations", [](const M& m) { return m.task_migrations; });
    reals("response_sum", [](const M& m) { return m.response_sum; });
    reals("tardiness_sum", [](const M& m) { return m.tardiness_sum; });
    reals("slack_sum", [](const M& m) { return m.slack_sum; });
    return columns;
}

// Rows of task, release; by release, then task.
nb::object releases_of(const Verdict& verdict) {
    std::vector<std::array<std::int64_t, 2>> rows;
    for (std::size_t i = 0; i < verdict.releases.size(); i++) {
        for (const Time release : verdict.releases[i]) {
            rows.push_back({static_cast<std::int64_t>(i), release});
        }
    }
    std::ranges::stable_sort(rows, {}, [](const auto& row) { return row[1]; });
    return array_of(rows.empty() ? nullptr : rows.front().data(), rows.size(), 2);
}

}  // namespace

nb::dict verdict_dict(const Verdict& verdict) {
    static_assert(sizeof(JobRecord) == 6 * sizeof(std::int64_t));
    static_assert(sizeof(Segment) == 5 * sizeof(std::int64_t));
    const Result& result = verdict.result;
    nb::dict answer;
    answer["answer"] = static_cast<int>(verdict.answer);
    answer["proved"] = verdict.proved;
    answer["execution"] =
        verdict.execution == Execution::up_to_wcet ? "up-to-wcet" : "exactly-wcet";
    answer["because"] = verdict.because;
    answer["proof"] = verdict.proof;
    answer["reference"] = verdict.reference;
    answer["pattern"] = verdict.pattern;
    answer["states"] = verdict.states;
    answer["releases"] = releases_of(verdict);
    answer["outcome"] = static_cast<int>(result.outcome);
    answer["first_miss"] = none_as(result.first_miss);
    answer["first_miss_task"] = result.first_miss_task;
    answer["first_miss_job"] = result.first_miss_job;
    answer["until"] = result.until;
    answer["events"] = result.events;
    answer["repeat_from"] = result.repeat_from;
    answer["repeat_to"] = result.repeat_to;
    answer["truncated"] = result.truncated;
    answer["placed"] = array_of(result.placed.data(), result.placed.size());
    answer["remarks"] = result.remarks;
    answer["metrics"] = metrics_of(result);
    answer["jobs"] =
        array_of(reinterpret_cast<const std::int64_t*>(result.jobs.data()), result.jobs.size(), 6);
    answer["segments"] = array_of(reinterpret_cast<const std::int64_t*>(result.segments.data()),
                                  result.segments.size(), 5);
    return answer;
}

namespace {

nb::dict facts_dict(const PolicyInfo& info) {
    nb::dict d;
    d["name"] = info.name;
    d["title"] = info.title;
    d["reference"] = info.reference;
    d["memoryless"] = info.memoryless;
    d["predictable"] = info.predictable;
    d["predictable_reason"] = info.predictable_reason;
    d["clusters"] = info.clusters;
    d["partitions"] = info.partitions;
    d["fixed_priority"] = info.fixed_priority;
    d["implicit_only"] = info.implicit_only;
    return d;
}

nb::list policy_list() {
    nb::list list;
    for (const PolicyEntry& entry : policies()) {
        list.append(facts_dict(entry.info));
    }
    return list;
}

void require_legal(const System& system, const std::vector<std::vector<Time>>& releases) {
    if (releases.size() != system.tasks.size()) {
        throw std::invalid_argument("releases must be a list per task");
    }
    for (std::size_t i = 0; i < releases.size(); i++) {
        Time least = 0;
        for (const Time release : releases[i]) {
            if (release < least || release > kTimeMax) {
                throw std::invalid_argument("releases of a task must be a period apart");
            }
            least = release + system.tasks[i].period;
        }
    }
}

nb::dict policy_facts(const Options& options) {
    if (find_policy(options.policy) == nullptr) {
        throw std::invalid_argument("unknown policy " + options.policy);
    }
    return facts_dict(facts_of(options));
}

void require_known(const System& system, const Options& options) {
    require_sound(system);
    if (find_policy(options.policy) == nullptr) {
        throw std::invalid_argument("unknown policy " + options.policy);
    }
    if (tie_rank(system, options.ties).empty()) {
        throw std::invalid_argument("unknown tie rule " + options.ties);
    }
    if (options.arrival == Arrival::listed) {
        require_legal(system, options.releases);
    }
}

// [0, horizon) as it comes, without a verdict: `answer` stays undecided.
nb::dict simulate_span(std::int32_t processors, const TaskArray& tasks, const Options& options,
                       Time horizon) {
    const System system = system_of(processors, tasks);
    require_known(system, options);
    if (horizon < 1 || horizon > kTimeMax) {
        throw std::invalid_argument("horizon must be 1 to 2^62");
    }
    Verdict verdict;
    {
        nb::gil_scoped_release unlocked;
        verdict.result = simulate(system, options, {.horizon = horizon});
    }
    return verdict_dict(verdict);
}

nb::dict decide_one(std::int32_t processors, const TaskArray& tasks, const Options& options,
                    int model, bool thesis) {
    const System system = system_of(processors, tasks);
    require_known(system, options);
    Verdict verdict;
    {
        nb::gil_scoped_release unlocked;
        verdict = thesis ? decide_by_thesis(system, options)
                         : decide(system, options, static_cast<Model>(model));
    }
    return verdict_dict(verdict);
}

nb::dict decide_sporadic_one(std::int32_t processors, const TaskArray& tasks,
                             const Options& options, std::int64_t states, std::int32_t patterns) {
    const System system = system_of(processors, tasks);
    require_known(system, options);
    Verdict verdict;
    {
        nb::gil_scoped_release unlocked;
        verdict = decide_sporadic(system, options, {.states = states, .patterns = patterns});
    }
    return verdict_dict(verdict);
}

}  // namespace

void bind_simulator(nb::module_& m) {
    nb::class_<Costs>(m, "OptionCosts")
        .def_rw("context_switch", &Costs::context_switch)
        .def_rw("migration", &Costs::migration)
        .def_rw("cache_reload", &Costs::cache_reload)
        .def_rw("migration_across", &Costs::migration_across);
    nb::enum_<Arrival>(m, "Arrival")
        .value("periodic", Arrival::periodic)
        .value("sporadic", Arrival::sporadic)
        .value("listed", Arrival::listed);
    nb::class_<Options>(m, "Options")
        .def(nb::init<>())
        .def_rw("policy", &Options::policy)
        .def_rw("ties", &Options::ties)
        .def_rw("priorities", &Options::priorities)
        .def_rw("partition", &Options::partition)
        .def_rw("order", &Options::order)
        .def_rw("admission", &Options::admission)
        .def_rw("unplaced", &Options::unplaced)
        .def_rw("balance", &Options::balance)
        .def_rw("cluster_size", &Options::cluster_size)
        .def_rw("threshold_numerator", &Options::threshold_numerator)
        .def_rw("threshold_denominator", &Options::threshold_denominator)
        .def_ro("costs", &Options::costs)
        .def_rw("arrival", &Options::arrival)
        .def_rw("seed", &Options::seed)
        .def_rw("sporadic_delay", &Options::sporadic_delay)
        .def_rw("releases", &Options::releases)
        .def_rw("stop_at_miss", &Options::stop_at_miss)
        .def_rw("skip_overruns", &Options::skip_overruns)
        .def_rw("horizon", &Options::horizon)
        .def_rw("budget", &Options::budget)
        .def_rw("metrics", &Options::metrics)
        .def_rw("record_jobs", &Options::record_jobs)
        .def_rw("record_segments", &Options::record_segments)
        .def_rw("record_max", &Options::record_max)
        .def_rw("record_from", &Options::record_from);
    m.def("policies", &policy_list, nb::sig("def policies() -> list[dict[str, typing.Any]]"));
    m.def("policy_facts", &policy_facts, nb::arg("options"),
          nb::sig("def policy_facts(options: Options) -> dict[str, typing.Any]"));
    m.def("tie_rules", &tie_rules);
    m.def("option_words", &option_words, nb::arg("option"));
    m.def("simulate", &simulate_span, nb::arg("processors"), nb::arg("tasks"), nb::arg("options"),
          nb::arg("horizon"),
          nb::sig("def simulate(processors: int, tasks: numpy.typing.NDArray[numpy.int64], "
                  "options: Options, horizon: int) -> dict[str, typing.Any]"));
    m.def("decide", &decide_one, nb::arg("processors"), nb::arg("tasks"), nb::arg("options"),
          nb::arg("model"), nb::arg("thesis") = false,
          nb::sig("def decide(processors: int, tasks: numpy.typing.NDArray[numpy.int64], options: "
                  "Options, "
                  "model: int, thesis: bool = False) -> dict[str, typing.Any]"));
    m.def("decide_sporadic", &decide_sporadic_one, nb::arg("processors"), nb::arg("tasks"),
          nb::arg("options"), nb::arg("states"), nb::arg("patterns"),
          nb::sig("def decide_sporadic(processors: int, tasks: "
                  "numpy.typing.NDArray[numpy.int64], options: Options, states: int, "
                  "patterns: int) -> dict[str, typing.Any]"));
}

}  // namespace deadbeat::bind
