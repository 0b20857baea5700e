// Global SCHED_DEADLINE: the m servers with the earliest deadlines run.
#include "cbs.hpp"

namespace deadbeat::sched::g_cbs {

namespace {

const PolicyRegistrar registrar(
    {.name = "g-cbs",
     .title = "Global EDF of constant-bandwidth servers (Linux SCHED_DEADLINE)",
     .reference =
         "Abeni and Buttazzo, RTSS 1998; Linux, Documentation/scheduler/sched-deadline.rst",
     .memoryless = false,
     .predictable = false,
     .predictable_reason = kServersRemember,
     .unit_matters = true},
    make<ConstantBandwidth<Scope::global>>);

}  // namespace

}  // namespace deadbeat::sched::g_cbs
