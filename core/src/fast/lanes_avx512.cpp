#define DEADBEAT_LANES avx512
#include "verdict_kernel.hpp"

namespace deadbeat::sched::fast {

const InstructionSet& avx512_kernels() {
    static constexpr InstructionSet set = {"avx512", 16, 8,
                                           avx512::verdict_kernel<avx512::Simd<std::int32_t, 16>>,
                                           avx512::verdict_kernel<avx512::Simd<std::int64_t, 8>>};
    return set;
}

}  // namespace deadbeat::sched::fast
