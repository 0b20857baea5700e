#define DEADBEAT_LANES avx512
#include "metrics_kernel.hpp"
#include "verdict_kernel.hpp"

namespace deadbeat::sched::fast {

namespace {

using Narrow = avx512::Simd<std::int32_t, 16>;
using Wide = avx512::Simd<std::int64_t, 8>;

}  // namespace

const InstructionSet& avx512_kernels() {
    static constexpr InstructionSet set = {.name = "avx512",
                                           .lanes32 = Narrow::lanes,
                                           .lanes64 = Wide::lanes,
                                           .verdict32 = avx512::verdict_kernel<Narrow>,
                                           .verdict64 = avx512::verdict_kernel<Wide>,
                                           .metrics32 = avx512::metrics_kernel<Narrow>,
                                           .metrics64 = avx512::metrics_kernel<Wide>};
    return set;
}

}  // namespace deadbeat::sched::fast
