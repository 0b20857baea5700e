// UUniFast-Discard: vectors of UUniFast until one is within the bounds.
#include <algorithm>

#include "deadbeat/sched/generators.hpp"
#include "text.hpp"
#include "uunifast.hpp"

namespace deadbeat::sched::uunifast_discard {

namespace {

UtilisationLaw make(const GeneratorSpec& spec, std::string&) {
    return [sum = spec.utilisation - spec.tasks * spec.low, low = spec.low, high = spec.high](
               Random& random, std::span<double> values, std::int64_t& attempts) -> std::string {
        const std::int64_t begin = attempts;
        while (attempts > 0) {
            attempts--;
            uunifast(random, std::max(sum, 0.0), values);
            // A rounding beyond the bound is the bound: else U = n high would never be met.
            const double most = (high - low) * (1.0 + 1e-12);
            if (std::ranges::all_of(values, [&](double u) { return u <= most; })) {
                std::ranges::for_each(values, [&](double& u) { u = std::min(u + low, high); });
                return "";
            }
        }
        return "none of " + std::to_string(begin) + " vectors of UUniFast is within [" + text(low) +
               ", " + text(high) + "]: randfixedsum and cfs have the same law and discard nothing";
    };
}

const UtilisationRegistrar registrar(
    {.name = "uunifast-discard",
     .title = "UUniFast-Discard: UUniFast until all are within the bounds",
     .reference = "Davis and Burns, Real-Time Systems 47, 2011",
     .fixed_sum = true},
    make);

}  // namespace

}  // namespace deadbeat::sched::uunifast_discard
