// Global EDF: the m ready jobs with the earliest absolute deadlines run.
#include "priority.hpp"

namespace deadbeat::sched::g_edf {

namespace {

const PolicyRegistrar registrar({.name = "g-edf",
                                 .title = "Global EDF",
                                 .reference = "Dhall and Liu, Operations Research 26(1), 1978",
                                 .memoryless = true,
                                 .predictable = true,
                                 .predictable_reason = kFixedJobPriorities},
                                make<Ranked<DeadlineKeys, Scope::global>>);

}  // namespace

}  // namespace deadbeat::sched::g_edf
