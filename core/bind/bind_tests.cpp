#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind.hpp"
#include "deadbeat/sched/partition.hpp"
#include "deadbeat/sched/tests.hpp"

namespace deadbeat::bind {

namespace {

using namespace sched;

nb::list test_list() {
    nb::list list;
    for (const TestEntry& entry : schedulability_tests()) {
        const TestInfo& info = entry.info;
        nb::dict d;
        d["name"] = info.name;
        d["title"] = info.title;
        d["reference"] = info.reference;
        d["scheduler"] = info.scheduler;
        d["model"] = info.model;
        d["ties"] = info.ties;
        d["deadlines"] = info.deadlines;
        d["kind"] = static_cast<int>(info.kind);
        d["cost"] = info.cost;
        d["whole_instants"] = info.whole_instants;
        d["models"] = info.models;
        d["protocols"] = info.protocols;
        list.append(d);
    }
    return list;
}

nb::tuple run_test(const std::string& name, std::int32_t processors, const TaskArray& tasks,
                   const TestOptions& options, const SectionArray& sections,
                   const FourArray& extras, const FourArray& details) {
    System system = system_of(processors, tasks, sections, extras);
    system.details = details_of(details);
    require_sound(system);
    const TestEntry* test = find_test(name);
    if (test == nullptr) {
        throw std::invalid_argument("unknown test " + name);
    }
    std::vector<Time> bounds(system.tasks.size(), kNever);
    TestVerdict verdict;
    {
        nb::gil_scoped_release unlocked;
        verdict = test->run(system, options, bounds);
    }
    return nb::make_tuple(static_cast<int>(verdict.answer), std::string(verdict.reason),
                          array_of(bounds.data(), bounds.size()));
}

nb::tuple scale_of(std::int32_t processors, const TaskArray& tasks, const TestOptions& options,
                   bool edf) {
    const System system = system_of(processors, tasks);
    require_sound(system);
    const Scale found = largest_scale(system, options, edf);
    return nb::make_tuple(found.numerator, found.denominator);
}

nb::object order_of(std::int32_t processors, const TaskArray& tasks, const TestOptions& options,
                    const SectionArray& sections, const FourArray& extras) {
    const System system = system_of(processors, tasks, sections, extras);
    require_sound(system);
    return nb::cast(order_of_priorities(system, options));
}

nb::object shares_of(std::int32_t processors, const TaskArray& tasks, const TestOptions& options,
                     const SectionArray& sections) {
    System system = system_of(processors, tasks);
    system.sections = {reinterpret_cast<const Section*>(sections.data()), sections.shape(0)};
    require_sound(system);
    static_assert(sizeof(Share) == 5 * sizeof(std::int64_t));
    const std::vector<Share> found = pinned_shares(system, options);
    return array_of(reinterpret_cast<const std::int64_t*>(found.data()), found.size(), 5);
}

}  // namespace

void bind_tests(nb::module_& m) {
    nb::class_<TestOptions>(m, "TestOptions")
        .def(nb::init<>())
        .def_rw("priorities", &TestOptions::priorities)
        .def_rw("ties", &TestOptions::ties)
        .def_rw("partition", &TestOptions::partition)
        .def_rw("order", &TestOptions::order)
        .def_rw("admission", &TestOptions::admission)
        .def_rw("blocking", &TestOptions::blocking)
        .def_rw("supply_budget", &TestOptions::supply_budget)
        .def_rw("supply_period", &TestOptions::supply_period)
        .def_rw("budget", &TestOptions::budget);
    m.def("tests", &test_list, nb::sig("def tests() -> list[dict[str, typing.Any]]"));
    m.def("partition_heuristics", &partition_heuristics);
    m.def("heuristic_for", &heuristic_for, nb::arg("partition"), nb::arg("capacity"));
    m.def("admission_for", &admission_for, nb::arg("options"), nb::arg("capacity"));
    m.def("partition_orders", &partition_orders);
    m.def("partition_admissions", &partition_admissions);
    m.def("pinned_shares", &shares_of, nb::arg("processors"), nb::arg("tasks"), nb::arg("options"),
          nb::arg("sections"),
          nb::sig("def pinned_shares(processors: int, tasks: numpy.typing.NDArray[numpy.int64], "
                  "options: TestOptions, sections: numpy.typing.NDArray[numpy.int64]) -> "
                  "numpy.typing.NDArray[numpy.int64]"));
    m.def("largest_scale", &scale_of, nb::arg("processors"), nb::arg("tasks"), nb::arg("options"),
          nb::arg("edf"),
          nb::sig("def largest_scale(processors: int, tasks: numpy.typing.NDArray[numpy.int64], "
                  "options: TestOptions, edf: bool) -> tuple[int, int]"));
    m.def("order_of_priorities", &order_of, nb::arg("processors"), nb::arg("tasks"),
          nb::arg("options"), nb::arg("sections"), nb::arg("extras"),
          nb::sig("def order_of_priorities(processors: int, tasks: "
                  "numpy.typing.NDArray[numpy.int64], options: TestOptions, sections: "
                  "numpy.typing.NDArray[numpy.int64], extras: numpy.typing.NDArray[numpy.int64]) "
                  "-> list[int]"));
    m.def("run_test", &run_test, nb::arg("name"), nb::arg("processors"), nb::arg("tasks"),
          nb::arg("options"), nb::arg("sections"), nb::arg("extras"), nb::arg("details"),
          nb::sig(
              "def run_test(name: str, processors: int, tasks: numpy.typing.NDArray[numpy.int64], "
              "options: TestOptions, sections: numpy.typing.NDArray[numpy.int64], extras: "
              "numpy.typing.NDArray[numpy.int64], details: numpy.typing.NDArray[numpy.int64]) -> "
              "tuple[int, str, "
              "numpy.typing.NDArray[numpy.int64]]"));
}

}  // namespace deadbeat::bind
