// Independent uniform utilisations, given that their sum is within the tolerance.
#include <memory>

#include "independent.hpp"
#include "slice.hpp"

namespace deadbeat::sched::uniform {

namespace {

void fill(const GeneratorSpec& spec, Random& random, std::span<double> values) {
    for (double& value : values) {
        value = spec.low + (spec.high - spec.low) * random.unit();
    }
}

UtilisationLaw make(const GeneratorSpec& spec, std::string& reason) {
    std::shared_ptr<const Window> window;
    if (spec.high > spec.low) {
        auto found =
            Window::make(static_cast<std::size_t>(spec.tasks), spec.low, spec.high,
                         spec.utilisation - spec.tolerance, spec.utilisation + spec.tolerance);
        window = found ? std::make_shared<const Window>(std::move(*found)) : nullptr;
    }
    if (!window) {
        reason = hopeless(spec, 0.5 * (spec.low + spec.high));
    }
    return [spec, window](Random& random, std::span<double> values,
                          std::int64_t& attempts) -> std::string {
        for (int i = 0; attempts > 0; i++) {
            attempts--;
            if (window && i == kTries) {
                window->draw(random, values);  // the same law, so the mixture is it too
                return "";
            }
            fill(spec, random, values);
            if (hits(spec, values)) {
                return "";
            }
        }
        return missed(spec);
    };
}

const UtilisationRegistrar registrar(
    {.name = "uniform",
     .title = "Independent, uniform within the bounds; kept when the sum is within the tolerance",
     .reference = "Hangan and Sebestyen's experiments, RTMultiSim",
     .fixed_sum = false},
    make);

}  // namespace

}  // namespace deadbeat::sched::uniform
