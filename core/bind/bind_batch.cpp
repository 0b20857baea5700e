#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bind.hpp"
#include "deadbeat/sched/batch.hpp"
#include "deadbeat/sched/policy.hpp"
#include "deadbeat/sched/tests.hpp"
#include "deadbeat/sched/ties.hpp"

namespace deadbeat::bind {

namespace {

using namespace sched;

void require_starts(std::span<const std::int64_t> starts, std::size_t systems, std::size_t rows) {
    if (starts.size() != systems + 1 || starts.front() != 0 ||
        starts.back() != static_cast<std::int64_t>(rows)) {
        throw std::invalid_argument("starts do not match the tasks and processors");
    }
    if (!std::ranges::is_sorted(starts)) {
        throw std::invalid_argument("starts must ascend");
    }
}

void require_batch(const Batch& batch) {
    require_starts(batch.starts, batch.size(), batch.tasks.size());
    if (!batch.section_starts.empty()) {
        require_starts(batch.section_starts, batch.size(), batch.sections.size());
    }
    if (!batch.extras.empty() && batch.extras.size() != batch.tasks.size()) {
        throw std::invalid_argument("extras are of every task");
    }
    for (std::size_t i = 0; i < batch.size(); i++) {
        const auto found = defects(batch.system(i));
        if (!found.empty()) {
            throw std::invalid_argument("system " + std::to_string(i) + ": " + found.front());
        }
    }
}

Batch batch_of(const TaskArray& tasks, const Integers& starts, const Counts& processors) {
    return {{reinterpret_cast<const Task*>(tasks.data()), tasks.shape(0)},
            {starts.data(), starts.shape(0)},
            {processors.data(), processors.shape(0)}};
}

// The integer fields of BatchRow in their order, then the real ones.
constexpr const char* kIntegers[] = {"answer",        "proved",         "first_miss",  "until",
                                     "placed",        "jobs",           "events",      "judged",
                                     "missed",        "completed",      "preemptions", "migrations",
                                     "cross_cluster", "task_migrations"};

nb::dict columns_of(const std::vector<BatchRow>& rows) {
    static_assert(sizeof(BatchRow) == 21 * 8);
    nb::dict columns;
    std::vector<std::int64_t> integers(rows.size());
    std::vector<double> reals(rows.size());
    std::size_t field = 0;
    for (const char* name : kIntegers) {
        for (std::size_t i = 0; i < rows.size(); i++) {
            integers[i] = (&rows[i].answer)[field];
        }
        columns[name] = array_of(integers.data(), rows.size());
        field++;
    }
    const auto put_real = [&](const char* name, double BatchRow::* member) {
        for (std::size_t i = 0; i < rows.size(); i++) {
            reals[i] = rows[i].*member;
        }
        columns[name] = array_of(reals.data(), rows.size());
    };
    const auto put = [&](const char* name, Time BatchRow::* member) {
        for (std::size_t i = 0; i < rows.size(); i++) {
            integers[i] = rows[i].*member;
        }
        columns[name] = array_of(integers.data(), rows.size());
    };
    put_real("slack_mean", &BatchRow::slack_mean);
    put_real("slack_share_mean", &BatchRow::slack_share_mean);
    put_real("response_mean", &BatchRow::response_mean);
    put_real("tardiness_mean", &BatchRow::tardiness_mean);
    put("slack_min", &BatchRow::slack_min);
    put("response_max", &BatchRow::response_max);
    put("tardiness_max", &BatchRow::tardiness_max);
    return columns;
}

nb::dict decide_many(const TaskArray& tasks, const Integers& starts, const Counts& processors,
                     const Options& options, int model, int threads, const std::string& lanes) {
    const Batch batch = batch_of(tasks, starts, processors);
    require_batch(batch);
    if (find_policy(options.policy) == nullptr) {
        throw std::invalid_argument("unknown policy " + options.policy);
    }
    std::vector<BatchRow> rows;
    {
        nb::gil_scoped_release unlocked;
        rows = decide_batch(batch, options, static_cast<Model>(model), threads, lanes);
    }
    return columns_of(rows);
}

nb::object test_many(const TaskArray& tasks, const Integers& starts, const Counts& processors,
                     const SectionArray& sections, const Integers& section_starts,
                     const FourArray& extras, const std::vector<std::string>& names,
                     const TestOptions& options, int threads) {
    Batch batch = batch_of(tasks, starts, processors);
    batch.sections = {reinterpret_cast<const Section*>(sections.data()), sections.shape(0)};
    batch.section_starts = {section_starts.data(), section_starts.shape(0)};
    batch.extras = {reinterpret_cast<const Extra*>(extras.data()), extras.shape(0)};
    require_batch(batch);
    for (const std::string& name : names) {
        if (find_test(name) == nullptr) {
            throw std::invalid_argument("unknown test " + name);
        }
    }
    std::vector<std::int8_t> answers;
    {
        nb::gil_scoped_release unlocked;
        answers = test_batch(batch, names, options, threads);
    }
    return array_of(answers.data(), batch.size(), names.size());
}

}  // namespace

void bind_batch(nb::module_& m) {
    m.def(
        "decide_batch", &decide_many, nb::arg("tasks"), nb::arg("starts"), nb::arg("processors"),
        nb::arg("options"), nb::arg("model"), nb::arg("threads") = 1, nb::arg("lanes") = "",
        nb::sig("def decide_batch(tasks: numpy.typing.NDArray[numpy.int64], starts: "
                "numpy.typing.NDArray[numpy.int64], processors: numpy.typing.NDArray[numpy.int32], "
                "options: Options, model: int, threads: int = 1, lanes: str = '') -> dict[str, "
                "numpy.typing.NDArray[typing.Any]]"));
    m.def("lane_kinds", &lane_kinds);
    m.def(
        "test_batch", &test_many, nb::arg("tasks"), nb::arg("starts"), nb::arg("processors"),
        nb::arg("sections"), nb::arg("section_starts"), nb::arg("extras"), nb::arg("names"),
        nb::arg("options"), nb::arg("threads") = 1,
        nb::sig("def test_batch(tasks: numpy.typing.NDArray[numpy.int64], starts: "
                "numpy.typing.NDArray[numpy.int64], processors: numpy.typing.NDArray[numpy.int32], "
                "sections: numpy.typing.NDArray[numpy.int64], section_starts: "
                "numpy.typing.NDArray[numpy.int64], extras: numpy.typing.NDArray[numpy.int64], "
                "names: collections.abc.Sequence[str], options: TestOptions, threads: int = 1) -> "
                "numpy.typing.NDArray[numpy.int8]"));
}

}  // namespace deadbeat::bind
