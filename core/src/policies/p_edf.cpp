// Partitioned EDF: every task is bound to a processor, where the earliest deadline runs.
#include "priority.hpp"

namespace deadbeat::sched::p_edf {

namespace {

const PolicyRegistrar registrar(
    {.name = "p-edf",
     .title = "Partitioned EDF",
     .reference = "Liu and Layland, Journal of the ACM 20(1), 1973; partitioned: Lopez et al., "
                  "Real-Time Systems 28(1), 2004",
     .memoryless = true,
     .predictable = true,
     .predictable_reason = kFixedJobPriorities,
     .partitions = true},
    make<Ranked<DeadlineKeys, Scope::partitioned>>);

}  // namespace

}  // namespace deadbeat::sched::p_edf
