#include "bind.hpp"
#include "deadbeat/sched/program.hpp"

namespace deadbeat::bind {

namespace {

using namespace sched;

template <int Columns>
using Rows = nb::ndarray<const std::int64_t, nb::shape<-1, Columns>, nb::c_contig, nb::device::cpu>;

static_assert(sizeof(program::Thread) == program::kThreadFields * sizeof(std::int64_t));
static_assert(sizeof(program::Operation) == program::kOperationFields * sizeof(std::int64_t));
static_assert(sizeof(program::Outcome) == program::kOutcomeFields * sizeof(std::int64_t));
static_assert(sizeof(program::Lock) == 2 * sizeof(std::int64_t));
static_assert(sizeof(program::Limits) == program::kLimitsFields * sizeof(std::int64_t));

template <class T, class Array>
std::span<const T> rows_of(const Array& array) {
    return {reinterpret_cast<const T*>(array.data()), array.shape(0)};
}

nb::object run_program(std::int64_t cpus, const Rows<9>& threads, const Integers& job_ends,
                       const Integers& releases, const Integers& op_ends, const Rows<3>& ops,
                       const Rows<2>& locks, const Rows<5>& limits, std::int64_t horizon) {
    const program::Program given{
        rows_of<program::Thread>(threads),
        rows_of<std::int64_t>(job_ends),
        rows_of<std::int64_t>(releases),
        rows_of<std::int64_t>(op_ends),
        rows_of<program::Operation>(ops),
        rows_of<program::Lock>(locks),
        limits.shape(0) == 0 ? program::Limits{} : rows_of<program::Limits>(limits)[0],
    };
    if (const std::string why = program::refusal(cpus, given, horizon); !why.empty()) {
        throw std::invalid_argument(why);
    }
    std::vector<program::Outcome> found;
    {
        nb::gil_scoped_release unlocked;
        found = program::run(cpus, given, horizon);
    }
    return array_of(reinterpret_cast<const std::int64_t*>(found.data()), found.size(),
                    program::kOutcomeFields);
}

}  // namespace

void bind_program(nb::module_& m) {
    m.def("run_program", &run_program, nb::arg("cpus"), nb::arg("threads"), nb::arg("job_ends"),
          nb::arg("releases"), nb::arg("op_ends"), nb::arg("ops"), nb::arg("locks"),
          nb::arg("limits"), nb::arg("horizon"),
          nb::sig("def run_program(cpus: int, threads: numpy.typing.NDArray[numpy.int64], "
                  "job_ends: numpy.typing.NDArray[numpy.int64], releases: "
                  "numpy.typing.NDArray[numpy.int64], op_ends: numpy.typing.NDArray[numpy.int64], "
                  "ops: numpy.typing.NDArray[numpy.int64], locks: "
                  "numpy.typing.NDArray[numpy.int64], limits: "
                  "numpy.typing.NDArray[numpy.int64], horizon: int) -> "
                  "numpy.typing.NDArray[numpy.int64]"));
}

}  // namespace deadbeat::bind
