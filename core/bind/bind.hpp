// What the parts of the binding share: task systems come as int64 arrays of shape (tasks, 9).
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "deadbeat/sched/system.hpp"
#include "deadbeat/sched/verdict.hpp"

namespace deadbeat::bind {

namespace nb = nanobind;

using TaskArray = nb::ndarray<const std::int64_t, nb::shape<-1, 9>, nb::c_contig, nb::device::cpu>;
using SectionArray =
    nb::ndarray<const std::int64_t, nb::shape<-1, 5>, nb::c_contig, nb::device::cpu>;
using FourArray = nb::ndarray<const std::int64_t, nb::shape<-1, 4>, nb::c_contig, nb::device::cpu>;
using Integers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Counts = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Arrays of int64 with the fields in the order of the struct (static_assert in system.hpp).
inline sched::System system_of(std::int32_t processors, const TaskArray& tasks) {
    return {processors, {reinterpret_cast<const sched::Task*>(tasks.data()), tasks.shape(0)}};
}
inline sched::System system_of(std::int32_t processors, const TaskArray& tasks,
                               const SectionArray& sections, const FourArray& extras) {
    sched::System system = system_of(processors, tasks);
    system.sections = {reinterpret_cast<const sched::Section*>(sections.data()), sections.shape(0)};
    system.extras = {reinterpret_cast<const sched::Extra*>(extras.data()), extras.shape(0)};
    return system;
}
inline std::span<const sched::Detail> details_of(const FourArray& details) {
    return {reinterpret_cast<const sched::Detail*>(details.data()), details.shape(0)};
}

// ValueError with the first defect; Python reports all of them before it comes here.
inline void require_sound(const sched::System& system) {
    const auto found = sched::defects(system);
    if (!found.empty()) {
        throw std::invalid_argument(found.front());
    }
}

// A numpy array that owns a copy of `count` values.
template <class T>
nb::object array_of(const T* values, std::size_t rows, std::optional<std::size_t> columns = {}) {
    const std::size_t count = rows * columns.value_or(1);
    T* copy = new T[count == 0 ? 1 : count];
    if (count > 0) {
        std::memcpy(copy, values, count * sizeof(T));
    }
    nb::capsule owner(copy, [](void* data) noexcept { delete[] static_cast<T*>(data); });
    if (!columns) {
        return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(copy, {rows}, owner));
    }
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<2>>(copy, {rows, *columns}, owner));
}

nb::dict verdict_dict(const sched::Verdict& verdict);

void bind_simulator(nb::module_& m);
void bind_batch(nb::module_& m);
void bind_tests(nb::module_& m);
void bind_locks(nb::module_& m);
void bind_generators(nb::module_& m);
void bind_program(nb::module_& m);

}  // namespace deadbeat::bind
