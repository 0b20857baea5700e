// Clustered fixed priority: every task is bound to a cluster, within which priorities are global.
#include "priority.hpp"

namespace deadbeat::sched::c_fp {

namespace {

const PolicyRegistrar registrar(
    {.name = "c-fp",
     .title = "Clustered fixed priority",
     .reference = "Calandrino, Anderson and Baumberger, ECRTS 2007 (clusters)",
     .memoryless = true,
     .predictable = true,
     .predictable_reason = kFixedJobPriorities,
     .clusters = true,
     .partitions = true,
     .fixed_priority = true},
    make<Ranked<LevelKeys, Scope::clustered>>);

}  // namespace

}  // namespace deadbeat::sched::c_fp
