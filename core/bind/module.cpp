// The Python module deadbeat.sched._core: one bind_*.cpp per part, all thin.
#include <nanobind/nanobind.h>

#include "bind.hpp"

NB_MODULE(_core, m) {
    m.doc() = "Scheduling core: simulator, schedulability tests, generators. Use deadbeat.sched.";
    // An interrupted command leaves a thread in the core behind, and with it live objects.
    nanobind::set_leak_warnings(false);
    deadbeat::bind::bind_simulator(m);
    deadbeat::bind::bind_batch(m);
    deadbeat::bind::bind_tests(m);
    deadbeat::bind::bind_locks(m);
    deadbeat::bind::bind_generators(m);
    deadbeat::bind::bind_program(m);
}
