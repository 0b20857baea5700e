// Independent exponential utilisations, truncated to the bounds, given that their sum is within
// the tolerance.
//
// Given the sum, the density exp(-sum / mean) / mean^n is constant: whatever the mean, the vectors
// are those of the uniform law over the slice, which is what RandFixedSum draws.
#include <memory>

#include "independent.hpp"
#include "portable.hpp"
#include "slice.hpp"

namespace deadbeat::sched::exponential {

namespace {

struct Exponential {
    GeneratorSpec spec;
    double mean;
    double mass;   // of the untruncated distribution in [0, high - low]
    double least;  // sum from which the window begins
    std::shared_ptr<const Window> window;

    void fill(Random& random, std::span<double> values) const {
        for (double& value : values) {
            const double u = 1.0 - mass * random.unit();
            value = std::clamp(spec.low - mean * portable::log(u), spec.low, spec.high);
        }
    }

    // Sums of independent uniforms have the density f, ours f(s) exp(-s / mean).
    bool direct(Random& random, std::span<double> values) const {
        window->draw(random, values);
        const double sum = std::accumulate(values.begin(), values.end(), 0.0);
        return random.unit() < portable::exp(std::min((least - sum) / mean, 0.0));
    }
};

// Mean of the exponential with `mean`, truncated to [low, high].
double truncated_mean(double low, double high, double mean, double mass) {
    const double width = high - low;
    return low + mean - (mass > 0.0 ? width * (1.0 - mass) / mass : 0.0);
}

UtilisationLaw make(const GeneratorSpec& spec, std::string& reason) {
    Exponential law{spec, spec.mean, 0.0, 0.0, nullptr};
    if (law.mean <= 0.0) {
        law.mean = spec.utilisation / spec.tasks;
    }
    law.mass = 1.0 - portable::exp(-(spec.high - spec.low) / law.mean);
    law.least = std::max(spec.utilisation - spec.tolerance, spec.tasks * spec.low);
    if (spec.high > spec.low) {
        auto found =
            Window::make(static_cast<std::size_t>(spec.tasks), spec.low, spec.high,
                         spec.utilisation - spec.tolerance, spec.utilisation + spec.tolerance);
        law.window = found ? std::make_shared<const Window>(std::move(*found)) : nullptr;
    }
    if (!law.window) {
        reason = hopeless(spec, truncated_mean(spec.low, spec.high, law.mean, law.mass));
    }
    return [law](Random& random, std::span<double> values, std::int64_t& attempts) -> std::string {
        for (int i = 0; attempts > 0; i++) {
            attempts--;
            if (law.window && i >= kTries) {
                if (law.direct(random, values)) {
                    return "";
                }
                continue;
            }
            law.fill(random, values);
            if (hits(law.spec, values)) {
                return "";
            }
        }
        return missed(law.spec);
    };
}

const UtilisationRegistrar registrar(
    {.name = "exponential",
     .title = "Independent, exponential within the bounds; kept when the sum is within the "
              "tolerance",
     .reference = "Hangan and Sebestyen's experiments, RTMultiSim",
     .fixed_sum = false},
    make);

}  // namespace

}  // namespace deadbeat::sched::exponential
