#define DEADBEAT_LANES baseline
#include "metrics_kernel.hpp"
#include "verdict_kernel.hpp"

namespace deadbeat::sched::fast {

namespace {

using Narrow = baseline::Simd<std::int32_t, 4>;
using Wide = baseline::Simd<std::int64_t, 2>;

}  // namespace

const InstructionSet& baseline_kernels() {
    static constexpr InstructionSet set = {.name = "baseline",
                                           .lanes32 = Narrow::lanes,
                                           .lanes64 = Wide::lanes,
                                           .verdict32 = baseline::verdict_kernel<Narrow>,
                                           .verdict64 = baseline::verdict_kernel<Wide>,
                                           .metrics32 = baseline::metrics_kernel<Narrow>,
                                           .metrics64 = baseline::metrics_kernel<Wide>};
    return set;
}

}  // namespace deadbeat::sched::fast
