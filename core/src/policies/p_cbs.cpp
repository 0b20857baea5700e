// Partitioned SCHED_DEADLINE: one processor a cpuset; the servers are packed, not the tasks.
#include "cbs.hpp"

namespace deadbeat::sched::p_cbs {

namespace {

const PolicyRegistrar registrar(
    {.name = "p-cbs",
     .title = "Partitioned EDF of constant-bandwidth servers (Linux SCHED_DEADLINE)",
     .reference =
         "Abeni and Buttazzo, RTSS 1998; Linux, Documentation/scheduler/sched-deadline.rst",
     .memoryless = false,
     .predictable = false,
     .predictable_reason = kServersRemember,
     .partitions = true,
     .unit_matters = true},
    make<ConstantBandwidth<Scope::partitioned>>);

}  // namespace

}  // namespace deadbeat::sched::p_cbs
