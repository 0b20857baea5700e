// Global non-preemptive fixed priority: a free processor takes the most urgent waiting task.
#include "priority.hpp"

namespace deadbeat::sched::g_np_fp {

namespace {

// Memoryless: a job that ran and is not complete is one with less than its C left.
const PolicyRegistrar registrar({.name = "g-np-fp",
                                 .title = "Global non-preemptive fixed priority",
                                 .reference = "Guan, Yi, Gu, Deng and Yu, RTSS 2008",
                                 .memoryless = true,
                                 .predictable = false,
                                 .predictable_reason = kNotPreemptive,
                                 .fixed_priority = true},
                                make<Ranked<LevelKeys, Scope::global, false>>);

}  // namespace

}  // namespace deadbeat::sched::g_np_fp
