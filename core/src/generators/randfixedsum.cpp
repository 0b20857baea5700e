// RandFixedSum: uniform over all vectors with this sum within common bounds.
//
// In units of the range, the slice {x in [0,1]^i, sum x = s} is a union of cones whose common apex
// is its centre (s/i, ..., s/i) and whose bases are its facets: x_l = 0, a slice of i - 1 with sum
// s at a distance proportional to s, and x_l = 1, one with sum s - 1 at a distance proportional to
// i - s. A cone is chosen by its volume, a point within by the distance u^(1/(i-1)) from the apex,
// and so on in the base. Which l it is, is settled by one shuffle at the end.
#include <algorithm>
#include <cmath>
#include <memory>

#include "deadbeat/sched/generators.hpp"
#include "portable.hpp"
#include "slice.hpp"

namespace deadbeat::sched::randfixedsum {

namespace {

class Cones {
  public:
    Cones(std::size_t tasks, double sum, double low, double high)
        : n_(tasks), low_(low), high_(high) {
        const auto n = static_cast<double>(tasks);
        const double width = high - low;
        const double s = width > 0.0 ? std::clamp((sum - n * low) / width, 0.0, n) : 0.0;
        mirrored_ = s > n / 2.0;
        sum_ = mirrored_ ? n - s : s;
        ones_ = std::min(static_cast<std::size_t>(sum_), tasks - 1);
        tabulate();
    }

    void draw(Random& random, std::span<double> values) const {
        const std::size_t columns = ones_ + 1;
        double s = sum_;
        std::size_t column = ones_;
        double shift = 0.0;
        double scale = 1.0;
        for (std::size_t i = n_; i > 1; i--) {
            const bool one = random.unit() < to_one_[i * columns + column];
            const double distance = portable::root(1.0 - random.unit(), static_cast<double>(i - 1));
            shift += scale * (1.0 - distance) * s / static_cast<double>(i);
            scale *= distance;
            values[i - 1] = shift + (one ? scale : 0.0);
            s -= one ? 1.0 : 0.0;
            column -= one ? 1 : 0;
        }
        values[0] = shift + scale * s;
        for (std::size_t i = n_; i > 1; i--) {
            std::swap(values[i - 1], values[random.below(i)]);
        }
        const double width = high_ - low_;
        for (double& value : values) {
            value =
                std::clamp(mirrored_ ? high_ - width * value : low_ + width * value, low_, high_);
        }
    }

  private:
    // Volumes V(i, s) of slices by (i - 1) V(i, s) = s V(i-1, s) + (i - s) V(i-1, s-1), for
    // s = fraction + column; every row is scaled to a maximum of 1, which no ratio feels.
    void tabulate() {
        const std::size_t columns = ones_ + 1;
        const double fraction = sum_ - static_cast<double>(ones_);
        to_one_.assign((n_ + 1) * columns, 0.0);
        std::vector<double> volume(columns, 0.0);
        volume[0] = 1.0;
        std::vector<double> following(columns);
        for (std::size_t i = 2; i <= n_; i++) {
            double largest = 0.0;
            for (std::size_t column = 0; column < columns; column++) {
                const double s = fraction + static_cast<double>(column);
                const double zero = s * volume[column];
                const double one =
                    column == 0 ? 0.0
                                : std::max(static_cast<double>(i) - s, 0.0) * volume[column - 1];
                following[column] = zero + one;
                largest = std::max(largest, following[column]);
                to_one_[i * columns + column] = one > 0.0 ? one / (zero + one) : 0.0;
            }
            for (std::size_t column = 0; column < columns; column++) {
                volume[column] = largest > 0.0 ? following[column] / largest : 0.0;
            }
        }
    }

    std::size_t n_;
    double low_, high_;
    bool mirrored_ = false;
    double sum_ = 0.0;
    std::size_t ones_ = 0;
    std::vector<double> to_one_;  // [i][column]: probability of a facet x = 1
};

UtilisationLaw make(const GeneratorSpec& spec, std::string& reason) {
    const auto n = static_cast<std::size_t>(spec.tasks);
    if (static_cast<double>(n) * static_cast<double>(n) / 2.0 > kTableMax) {
        reason = "there are too many tasks for randfixedsum: at most 11000";
        return nullptr;
    }
    return [cones = std::make_shared<const Cones>(n, spec.utilisation, spec.low, spec.high)](
               Random& random, std::span<double> values, std::int64_t& attempts) -> std::string {
        attempts--;
        cones->draw(random, values);
        return "";
    };
}

const UtilisationRegistrar registrar(
    {.name = "randfixedsum",
     .title = "RandFixedSum: uniform over the vectors with this sum within the bounds",
     .reference = "Stafford 2006; Emberson, Stafford and Davis, WATERS 2010",
     .fixed_sum = true},
    make);

}  // namespace

}  // namespace deadbeat::sched::randfixedsum
