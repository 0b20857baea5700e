// Vectors uniform over a slice of a box: {x: lower <= x <= upper, sum of x = sum}.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "deadbeat/sched/random.hpp"
#include "partial_sums.hpp"

namespace deadbeat::sched {

// ConvolutionalFixedSum's law (Griffin and Davis, RTAS 2025), by a method of our own: the partial
// sums are drawn backwards, each from its exact conditional law. Where the ranges have no common
// measure, a slice of a slightly larger box is drawn from and what lies outside is rejected, so
// the law stays exact.
class Slice {
  public:
    // Nothing, and `reason`, where the slice is empty or would need too large tables.
    static std::optional<Slice> make(std::span<const double> lower, std::span<const double> upper,
                                     double sum, std::string& reason);

    // Takes one from `attempts` per vector tried; false: they are used up.
    bool draw(Random& random, std::span<double> x, std::int64_t& attempts) const;

  private:
    void plan(double limit);
    bool common_measure(double limit);
    bool attempt(Random& random, std::span<double> x) const;
    void write(std::size_t task, double y, std::span<double> x) const;

    std::vector<double> lower_, upper_;
    bool mirrored_ = false;  // y = upper - x instead of x - lower: the smaller sum is drawn
    double rest_ = 0.0;      // sum of y
    std::vector<double> widths_;
    std::vector<std::size_t> gridded_, tiny_;  // tasks whose range is, or is below, some cells
    bool common_ = false;                      // every range is a whole number of cells
    double cell_ = 0.0;
    std::vector<std::int64_t> steps_;  // of gridded tasks: cells of the range, rounded up
    double peak_ = 0.0;                // largest density of the gridded sum where it can lie
    std::optional<PartialSums> sums_;
};

// The same for independent uniforms in [low, high] whose sum is in [from, to] only.
class Window {
  public:
    static std::optional<Window> make(std::size_t tasks, double low, double high, double from,
                                      double to);
    void draw(Random& random, std::span<double> x) const;

  private:
    Window(std::size_t tasks, double low, double high, double from, double to, bool mirrored);

    double low_, high_;
    bool mirrored_;
    double from_, to_;  // in units of high - low
    PartialSums sums_;
};

// Doubles that the tables of one law may take: 512 MiB.
inline constexpr double kTableMax = 64.0 * 1024 * 1024;

}  // namespace deadbeat::sched
