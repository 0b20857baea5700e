// ConvolutionalFixedSum: uniform over all vectors with this sum within the bounds.
#include <memory>

#include "deadbeat/sched/generators.hpp"
#include "slice.hpp"

namespace deadbeat::sched {

namespace {

UtilisationLaw make(const GeneratorSpec& spec, std::string& reason) {
    const auto n = static_cast<std::size_t>(spec.tasks);
    const std::vector<double> lower(n, spec.low);
    const std::vector<double> upper(n, spec.high);
    auto slice = Slice::make(lower, upper, spec.utilisation, reason);
    if (!slice) {
        return nullptr;
    }
    return [shared = std::make_shared<const Slice>(std::move(*slice))](
               Random& random, std::span<double> values, std::int64_t& attempts) -> std::string {
        return shared->draw(random, values, attempts) ? "" : "the attempts are used up";
    };
}

const UtilisationRegistrar cfs_registrar(
    {.name = "cfs",
     .title = "ConvolutionalFixedSum: uniform over the vectors with this sum within the bounds",
     .reference = "Griffin and Davis, RTAS 2025 (the law; the method is deadbeat's own)",
     .fixed_sum = true},
    make);

}  // namespace

std::string sample_cfs(std::span<const double> lower, std::span<const double> upper, double sum,
                       std::uint64_t seed, std::uint64_t first, std::span<double> vectors) {
    const std::size_t n = lower.size();
    std::string reason;
    const auto slice = Slice::make(lower, upper, sum, reason);
    if (!slice) {
        return reason;
    }
    for (std::size_t i = 0; n > 0 && i < vectors.size() / n; i++) {
        Random random(seed, first + i);
        std::int64_t attempts = 1'000'000;
        if (!slice->draw(random, vectors.subspan(i * n, n), attempts)) {
            return "a million vectors of the rounded bounds lie outside of the true ones";
        }
    }
    return "";
}

}  // namespace deadbeat::sched
