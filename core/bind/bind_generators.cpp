#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bind.hpp"
#include "deadbeat/sched/generators.hpp"

namespace deadbeat::bind {

namespace {

using namespace sched;

template <class Entries>
nb::list sampler_list(const Entries& entries) {
    nb::list list;
    for (const auto& entry : entries) {
        nb::dict d;
        d["name"] = entry.info.name;
        d["title"] = entry.info.title;
        d["reference"] = entry.info.reference;
        d["fixed_sum"] = entry.info.fixed_sum;
        list.append(d);
    }
    return list;
}

// Systems [first, first + count): int64 arrays of tasks (count * tasks, 9), of sections, and of
// where those of each system start. ValueError and the reason with the first system that does not
// exist.
nb::tuple generate_many(const GeneratorSpec& spec, std::uint64_t seed, std::uint64_t first,
                        std::size_t count) {
    std::vector<Task> tasks;
    std::vector<Section> sections;
    std::vector<std::int64_t> starts{0};
    std::string reason;
    {
        nb::gil_scoped_release unlocked;
        const Generator generator(spec);
        reason = generator.reason();
        const auto n = static_cast<std::size_t>(std::max(spec.tasks, 1));
        if (reason.empty()) {
            tasks.resize(count * n);
        }
        for (std::size_t i = 0; i < count && reason.empty(); i++) {
            reason =
                generator.generate(seed, first + i, std::span(tasks).subspan(i * n, n), sections);
            starts.push_back(static_cast<std::int64_t>(sections.size()));
        }
    }
    if (!reason.empty()) {
        throw std::invalid_argument(reason);
    }
    return nb::make_tuple(
        array_of(reinterpret_cast<const std::int64_t*>(tasks.data()), tasks.size(), kTaskFields),
        array_of(reinterpret_cast<const std::int64_t*>(sections.data()), sections.size(),
                 kSectionFields),
        array_of(starts.data(), starts.size()));
}

// Periods play no part: any recipe's utilisations can be looked at.
nb::object sample_utilisations(GeneratorSpec spec, std::uint64_t seed, std::uint64_t first,
                               std::size_t count) {
    spec.periods = "uniform";
    spec.period_low = spec.granularity = 1;
    spec.period_high = kParameterMax;
    spec.deadlines = "implicit";
    spec.deadline_low = spec.deadline_high = 1.0;
    std::vector<double> values;
    std::string reason;
    const auto n = static_cast<std::size_t>(std::max(spec.tasks, 1));
    {
        nb::gil_scoped_release unlocked;
        const Generator generator(spec);
        reason = generator.reason();
        if (reason.empty()) {
            values.resize(count * n);
        }
        for (std::size_t i = 0; i < count && reason.empty(); i++) {
            reason = generator.utilisations(seed, first + i, std::span(values).subspan(i * n, n));
        }
    }
    if (!reason.empty()) {
        throw std::invalid_argument(reason);
    }
    return array_of(values.data(), count, n);
}

nb::object cfs_vectors(const std::vector<double>& lower, const std::vector<double>& upper,
                       double sum, std::uint64_t seed, std::size_t count, std::uint64_t first) {
    if (lower.empty() || lower.size() != upper.size()) {
        throw std::invalid_argument("lower and upper must be of one length, at least 1");
    }
    std::vector<double> vectors(count * lower.size());
    std::string reason;
    {
        nb::gil_scoped_release unlocked;
        reason = sample_cfs(lower, upper, sum, seed, first, vectors);
    }
    if (!reason.empty()) {
        throw std::invalid_argument(reason);
    }
    return array_of(vectors.data(), count, lower.size());
}

}  // namespace

void bind_generators(nb::module_& m) {
    nb::class_<GeneratorSpec>(m, "GeneratorSpec")
        .def(nb::init<>())
        .def_rw("processors", &GeneratorSpec::processors)
        .def_rw("tasks", &GeneratorSpec::tasks)
        .def_rw("utilisation", &GeneratorSpec::utilisation)
        .def_rw("utilisations", &GeneratorSpec::utilisations)
        .def_rw("low", &GeneratorSpec::low)
        .def_rw("high", &GeneratorSpec::high)
        .def_rw("mean", &GeneratorSpec::mean)
        .def_rw("heavy_share", &GeneratorSpec::heavy_share)
        .def_rw("split", &GeneratorSpec::split)
        .def_rw("periods", &GeneratorSpec::periods)
        .def_rw("period_low", &GeneratorSpec::period_low)
        .def_rw("period_high", &GeneratorSpec::period_high)
        .def_rw("granularity", &GeneratorSpec::granularity)
        .def_rw("lcm_limit", &GeneratorSpec::lcm_limit)
        .def_rw("deadlines", &GeneratorSpec::deadlines)
        .def_rw("deadline_low", &GeneratorSpec::deadline_low)
        .def_rw("deadline_high", &GeneratorSpec::deadline_high)
        .def_rw("offsets", &GeneratorSpec::offsets)
        .def_rw("locks", &GeneratorSpec::locks)
        .def_rw("lock_share", &GeneratorSpec::lock_share)
        .def_rw("requests", &GeneratorSpec::requests)
        .def_rw("section_low", &GeneratorSpec::section_low)
        .def_rw("section_high", &GeneratorSpec::section_high)
        .def_rw("tolerance", &GeneratorSpec::tolerance)
        .def_rw("attempts", &GeneratorSpec::attempts);
    m.def(
        "utilisation_samplers", [] { return sampler_list(utilisation_samplers()); },
        nb::sig("def utilisation_samplers() -> list[dict[str, typing.Any]]"));
    m.def(
        "period_samplers", [] { return sampler_list(period_samplers()); },
        nb::sig("def period_samplers() -> list[dict[str, typing.Any]]"));
    m.def(
        "recipe_defects", [](const GeneratorSpec& spec) { return defects(spec); }, nb::arg("spec"));
    m.def("generate", &generate_many, nb::arg("spec"), nb::arg("seed"), nb::arg("first"),
          nb::arg("count"),
          nb::sig("def generate(spec: GeneratorSpec, seed: int, first: int, count: int) -> "
                  "tuple[numpy.typing.NDArray[numpy.int64], ...]"));
    m.def("sample_utilisations", &sample_utilisations, nb::arg("spec"), nb::arg("seed"),
          nb::arg("first"), nb::arg("count"),
          nb::sig(
              "def sample_utilisations(spec: GeneratorSpec, seed: int, first: int, count: int) -> "
              "numpy.typing.NDArray[numpy.float64]"));
    m.def("sample_cfs", &cfs_vectors, nb::arg("lower"), nb::arg("upper"), nb::arg("sum"),
          nb::arg("seed"), nb::arg("count"), nb::arg("first") = 0,
          nb::sig("def sample_cfs(lower: collections.abc.Sequence[float], upper: "
                  "collections.abc.Sequence[float], sum: float, seed: int, count: int, first: int "
                  "= 0) -> numpy.typing.NDArray[numpy.float64]"));
}

}  // namespace deadbeat::bind
