// Partitioned fixed priority: every task is bound to a processor, where the most urgent runs.
#include "priority.hpp"

namespace deadbeat::sched::p_fp {

namespace {

const PolicyRegistrar registrar(
    {.name = "p-fp",
     .title = "Partitioned fixed priority",
     .reference = "Liu and Layland, Journal of the ACM 20(1), 1973; partitioned: Dhall and Liu, "
                  "Operations Research 26(1), 1978",
     .memoryless = true,
     .predictable = true,
     .predictable_reason = kFixedJobPriorities,
     .partitions = true,
     .fixed_priority = true},
    make<Ranked<LevelKeys, Scope::partitioned>>);

}  // namespace

}  // namespace deadbeat::sched::p_fp
