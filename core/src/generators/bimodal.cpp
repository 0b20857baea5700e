// Light and heavy tasks, given that the sum is within the tolerance.
#include "independent.hpp"

namespace deadbeat::sched::bimodal {

namespace {

UtilisationLaw make(const GeneratorSpec& spec, std::string& reason) {
    const double light = 0.5 * (spec.low + spec.split);
    const double heavy = 0.5 * (spec.split + spec.high);
    reason = hopeless(spec, spec.heavy_share * heavy + (1.0 - spec.heavy_share) * light);
    return [spec](Random& random, std::span<double> values, std::int64_t& attempts) -> std::string {
        while (attempts > 0) {
            attempts--;
            for (double& value : values) {
                const bool heavy_one = random.unit() < spec.heavy_share;
                const double from = heavy_one ? spec.split : spec.low;
                const double to = heavy_one ? spec.high : spec.split;
                value = from + (to - from) * random.unit();
            }
            if (hits(spec, values)) {
                return "";
            }
        }
        return missed(spec);
    };
}

const UtilisationRegistrar registrar(
    {.name = "bimodal",
     .title = "Independent, light [low, split) or heavy [split, high]; kept when the sum is within "
              "the tolerance",
     .reference = "as the bimodal distributions of Brandenburg, PhD thesis, UNC, 2011",
     .fixed_sum = false},
    make);

}  // namespace

}  // namespace deadbeat::sched::bimodal
