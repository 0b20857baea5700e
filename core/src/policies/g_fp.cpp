// Global fixed priority: the m ready jobs of the most urgent tasks run.
#include "priority.hpp"

namespace deadbeat::sched::g_fp {

namespace {

const PolicyRegistrar registrar(
    {.name = "g-fp",
     .title = "Global fixed priority",
     .reference =
         "Dhall and Liu, Operations Research 26(1), 1978; Andersson, Baruah and Jonsson, RTSS 2001",
     .memoryless = true,
     .predictable = true,
     .predictable_reason = kFixedJobPriorities,
     .fixed_priority = true},
    make<Ranked<LevelKeys, Scope::global>>);

}  // namespace

}  // namespace deadbeat::sched::g_fp
