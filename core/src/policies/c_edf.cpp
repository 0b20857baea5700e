// Clustered EDF: every task is bound to a cluster, within which EDF is global.
#include "priority.hpp"

namespace deadbeat::sched::c_edf {

namespace {

const PolicyRegistrar registrar({.name = "c-edf",
                                 .title = "Clustered EDF",
                                 .reference = "Calandrino, Anderson and Baumberger, ECRTS 2007",
                                 .memoryless = true,
                                 .predictable = true,
                                 .predictable_reason = kFixedJobPriorities,
                                 .clusters = true,
                                 .partitions = true},
                                make<Ranked<DeadlineKeys, Scope::clustered>>);

}  // namespace

}  // namespace deadbeat::sched::c_edf
