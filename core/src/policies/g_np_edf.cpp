// Global non-preemptive EDF: a free processor takes the waiting job with the earliest deadline.
#include "priority.hpp"

namespace deadbeat::sched::g_np_edf {

namespace {

// Memoryless: a job that ran and is not complete is one with less than its C left.
const PolicyRegistrar registrar({.name = "g-np-edf",
                                 .title = "Global non-preemptive EDF",
                                 .reference = "Baruah, Real-Time Systems 32(1-2), 2006",
                                 .memoryless = true,
                                 .predictable = false,
                                 .predictable_reason = kNotPreemptive},
                                make<Ranked<DeadlineKeys, Scope::global, false>>);

}  // namespace

}  // namespace deadbeat::sched::g_np_edf
