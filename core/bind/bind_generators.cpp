#include <nanobind/stl/string.h>

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

void require_known(const GeneratorSpec& spec) {
    const auto known = [](const auto& entries, const std::string& name) {
        for (const auto& entry : entries) {
            if (entry.info.name == name) {
                return true;
            }
        }
        return false;
    };
    if (!known(utilisation_samplers(), spec.utilisations)) {
        throw std::invalid_argument("unknown distribution of utilisations " + spec.utilisations);
    }
    if (!known(period_samplers(), spec.periods)) {
        throw std::invalid_argument("unknown distribution of periods " + spec.periods);
    }
    if (spec.tasks < 1 || spec.tasks > static_cast<std::int32_t>(kTasksMax)) {
        throw std::invalid_argument("tasks must be 1 to 65535");
    }
}

// Systems [first, first + count): an int64 array (count * tasks, 9), and why system i is missing.
nb::tuple generate_many(const GeneratorSpec& spec, std::uint64_t seed, std::uint64_t first,
                        std::size_t count) {
    require_known(spec);
    const auto n = static_cast<std::size_t>(spec.tasks);
    std::vector<Task> tasks;
    std::vector<std::pair<std::uint64_t, std::string>> failed;
    {
        nb::gil_scoped_release unlocked;
        tasks.resize(count * n);
        std::size_t kept = 0;
        for (std::size_t i = 0; i < count; i++) {
            std::string reason =
                generate(spec, seed, first + i, std::span(tasks).subspan(kept * n, n));
            if (reason.empty()) {
                kept++;
            } else {
                failed.emplace_back(first + i, std::move(reason));
            }
        }
        tasks.resize(kept * n);
    }
    nb::list missing;
    for (const auto& [index, reason] : failed) {
        missing.append(nb::make_tuple(index, reason));
    }
    return nb::make_tuple(
        array_of(reinterpret_cast<const std::int64_t*>(tasks.data()), tasks.size(), kTaskFields),
        missing);
}

nb::object sample_utilisations(const GeneratorSpec& spec, std::uint64_t seed, std::uint64_t first,
                               std::size_t count) {
    require_known(spec);
    const auto n = static_cast<std::size_t>(spec.tasks);
    std::vector<double> values(count * n);
    UtilisationSampler sample = nullptr;
    for (const UtilisationEntry& entry : utilisation_samplers()) {
        if (entry.info.name == spec.utilisations) {
            sample = entry.sample;
        }
    }
    bool found = true;
    {
        nb::gil_scoped_release unlocked;
        for (std::size_t i = 0; i < count && found; i++) {
            Random random(seed, first + i);
            found = sample(spec, random, std::span(values).subspan(i * n, n));
        }
    }
    if (!found) {
        throw std::invalid_argument("no vector with these bounds and this sum was found");
    }
    return array_of(values.data(), count, n);
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
        .def_rw("tolerance", &GeneratorSpec::tolerance)
        .def_rw("attempts", &GeneratorSpec::attempts);
    m.def(
        "utilisation_samplers", [] { return sampler_list(utilisation_samplers()); },
        nb::sig("def utilisation_samplers() -> list[dict[str, typing.Any]]"));
    m.def(
        "period_samplers", [] { return sampler_list(period_samplers()); },
        nb::sig("def period_samplers() -> list[dict[str, typing.Any]]"));
    m.def("generate", &generate_many, nb::arg("spec"), nb::arg("seed"), nb::arg("first"),
          nb::arg("count"),
          nb::sig("def generate(spec: GeneratorSpec, seed: int, first: int, count: int) -> "
                  "tuple[numpy.typing.NDArray[numpy.int64], list[tuple[int, str]]]"));
    m.def("sample_utilisations", &sample_utilisations, nb::arg("spec"), nb::arg("seed"),
          nb::arg("first"), nb::arg("count"),
          nb::sig(
              "def sample_utilisations(spec: GeneratorSpec, seed: int, first: int, count: int) -> "
              "numpy.typing.NDArray[numpy.float64]"));
}

}  // namespace deadbeat::bind
