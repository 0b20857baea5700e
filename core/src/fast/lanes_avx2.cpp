#define DEADBEAT_LANES avx2
#include "verdict_kernel.hpp"

namespace deadbeat::sched::fast {

const InstructionSet& avx2_kernels() {
    static constexpr InstructionSet set = {"avx2", 8, 4,
                                           avx2::verdict_kernel<avx2::Simd<std::int32_t, 8>>,
                                           avx2::verdict_kernel<avx2::Simd<std::int64_t, 4>>};
    return set;
}

}  // namespace deadbeat::sched::fast
