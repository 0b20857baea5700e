// The instruction sets of x86-64 that lanes use: asked by the build for the machine it runs on, and
// by the core for every machine that it runs on.
#pragma once

namespace deadbeat::sched::fast {

inline bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"); }

inline bool has_avx512() {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("bmi2");
}

}  // namespace deadbeat::sched::fast
