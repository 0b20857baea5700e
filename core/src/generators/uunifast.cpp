// UUniFast: uniform over the vectors with this sum, without an upper bound.
#include "uunifast.hpp"

#include "deadbeat/sched/generators.hpp"
#include "portable.hpp"

namespace deadbeat::sched {

void uunifast(Random& random, double sum, std::span<double> values) {
    double rest = sum;
    for (std::size_t left = values.size(); left-- > 1;) {
        const double next = rest * portable::root(1.0 - random.unit(), static_cast<double>(left));
        values[values.size() - 1 - left] = rest - next;
        rest = next;
    }
    values.back() = rest;
}

namespace {

UtilisationLaw make_uunifast(const GeneratorSpec& spec, std::string&) {
    return [sum = spec.utilisation](Random& random, std::span<double> values,
                                    std::int64_t& attempts) -> std::string {
        attempts--;
        uunifast(random, sum, values);
        return "";
    };
}

const UtilisationRegistrar uunifast_registrar(
    {.name = "uunifast",
     .title = "UUniFast: uniform over the vectors with this sum, no upper bound",
     .reference = "Bini and Buttazzo, Real-Time Systems 30, 2005",
     .fixed_sum = true},
    make_uunifast);

}  // namespace

}  // namespace deadbeat::sched
