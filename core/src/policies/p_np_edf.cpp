// Partitioned non-preemptive EDF.
#include "priority.hpp"

namespace deadbeat::sched::p_np_edf {

namespace {

// Memoryless: a job that ran and is not complete is one with less than its C left.
const PolicyRegistrar registrar(
    {.name = "p-np-edf",
     .title = "Partitioned non-preemptive EDF",
     .reference = "Jeffay, Stanat and Martel, RTSS 1991 (one processor)",
     .memoryless = true,
     .predictable = false,
     .predictable_reason = kNotPreemptive,
     .partitions = true},
    make<Ranked<DeadlineKeys, Scope::partitioned, false>>);

}  // namespace

}  // namespace deadbeat::sched::p_np_edf
