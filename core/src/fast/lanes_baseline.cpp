#define DEADBEAT_LANES baseline
#include "verdict_kernel.hpp"

namespace deadbeat::sched::fast {

const InstructionSet& baseline_kernels() {
    static constexpr InstructionSet set = {
        "baseline", 4, 2, baseline::verdict_kernel<baseline::Simd<std::int32_t, 4>>,
        baseline::verdict_kernel<baseline::Simd<std::int64_t, 2>>};
    return set;
}

}  // namespace deadbeat::sched::fast
