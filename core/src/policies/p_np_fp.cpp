// Partitioned non-preemptive fixed priority.
#include "priority.hpp"

namespace deadbeat::sched::p_np_fp {

namespace {

// Memoryless: a job that ran and is not complete is one with less than its C left.
const PolicyRegistrar registrar(
    {.name = "p-np-fp",
     .title = "Partitioned non-preemptive fixed priority",
     .reference = "George, Rivierre and Spuri, INRIA RR-2966, 1996 (one processor)",
     .memoryless = true,
     .predictable = false,
     .predictable_reason = kNotPreemptive,
     .partitions = true,
     .fixed_priority = true},
    make<Ranked<LevelKeys, Scope::partitioned, false>>);

}  // namespace

}  // namespace deadbeat::sched::p_np_fp
