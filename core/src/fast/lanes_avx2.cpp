#define DEADBEAT_LANES avx2
#include "metrics_kernel.hpp"
#include "verdict_kernel.hpp"

namespace deadbeat::sched::fast {

namespace {

using Narrow = avx2::Simd<std::int32_t, 8>;
using Wide = avx2::Simd<std::int64_t, 4>;

}  // namespace

const InstructionSet& avx2_kernels() {
    static constexpr InstructionSet set = {.name = "avx2",
                                           .lanes32 = Narrow::lanes,
                                           .lanes64 = Wide::lanes,
                                           .verdict32 = avx2::verdict_kernel<Narrow>,
                                           .verdict64 = avx2::verdict_kernel<Wide>,
                                           .metrics32 = avx2::metrics_kernel<Narrow>,
                                           .metrics64 = avx2::metrics_kernel<Wide>};
    return set;
}

}  // namespace deadbeat::sched::fast
