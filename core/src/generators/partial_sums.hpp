// Sums of independent uniform variables whose ranges are whole numbers of cells: the density of
// the sum of the first k is a polynomial on every cell, and the sums are a Markov chain.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace deadbeat::sched {

// S_k = Y_1 + ... + Y_k, Y_i uniform in [0, widths[i]], on [0, cells]. Every density is held in
// Bernstein coefficients cell by cell; they come about by adding positive numbers only, so that
// none loses precision, whatever the number of variables.
class PartialSums {
  public:
    PartialSums(std::span<const std::int64_t> widths, std::int64_t cells);

    // Doubles the tables need; what a caller checks before it builds them.
    static double size(std::size_t variables, std::int64_t cells);

    std::size_t variables() const { return levels_.size(); }

    // Density of S_k at s in [0, cells], up to a factor that depends on k only.
    double density(std::size_t k, double s) const;

    // The inverse of the distribution of S_k given from <= S_k <= to, at u in [0, 1).
    double between(std::size_t k, double from, double to, double u) const;

  private:
    struct Level {
        std::size_t cells = 0;      // beyond them the density is 0
        std::size_t degree = 0;     // k - 1
        std::vector<double> shape;  // per cell: Bernstein coefficients times binomials
        std::vector<double> area;   // the same of the integral from the cell's start, degree k
        std::vector<double> below;  // integral over all cells before; cells + 1 of them
    };
    struct Place {
        std::size_t cell;
        double t;  // within the cell, 0 to 1
    };

    static Level first(std::int64_t width, std::int64_t cells);
    static Level next(const Level& level, std::int64_t width, std::int64_t cells);
    static void integrate(Level& level);
    static Place place(const Level& level, double s);
    static double invert(const Level& level, std::size_t cell, double area);

    std::vector<Level> levels_;
};

}  // namespace deadbeat::sched
