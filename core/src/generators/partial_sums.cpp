#include "partial_sums.hpp"

#include <algorithm>
#include <cmath>

namespace deadbeat::sched {

namespace {

double power(double base, std::size_t exponent) {
    double result = 1.0;
    for (; exponent > 0; exponent >>= 1) {
        result *= (exponent & 1) != 0 ? base : 1.0;
        base *= base;
    }
    return result;
}

// Sum of c[i] t^i (1-t)^(d-i), all terms positive: Horner in the smaller of t/(1-t) and (1-t)/t.
double bernstein(const double* c, std::size_t degree, double t) {
    const double s = 1.0 - t;
    double sum = 0.0;
    if (t < 0.5) {
        const double ratio = t / s;
        for (std::size_t i = degree + 1; i-- > 0;) {
            sum = sum * ratio + c[i];
        }
        return sum * power(s, degree);
    }
    const double ratio = s / t;
    for (std::size_t i = 0; i <= degree; i++) {
        sum = sum * ratio + c[i];
    }
    return sum * power(t, degree);
}

// Binomials of one row, as doubles.
std::vector<double> binomials(std::size_t n) {
    std::vector<double> row(n + 1, 1.0);
    for (std::size_t i = 1; i <= n; i++) {
        row[i] = row[i - 1] * static_cast<double>(n - i + 1) / static_cast<double>(i);
    }
    return row;
}

// Sums of `length` neighbours ending at each index (fewer at the start), by block-wise running
// sums from both sides, so without a subtraction (van Herk, Pattern Recognition Letters 13, 1992).
std::vector<double> window_sums(const std::vector<double>& values, std::size_t length) {
    const std::size_t n = values.size();
    std::vector<double> sums(n, 0.0);
    if (length == 0) {
        return sums;
    }
    std::vector<double> head(n);
    std::vector<double> tail(n);
    for (std::size_t i = 0; i < n; i++) {
        head[i] = values[i] + (i % length == 0 ? 0.0 : head[i - 1]);
    }
    for (std::size_t i = n; i-- > 0;) {
        tail[i] = values[i] + (i + 1 == n || (i + 1) % length == 0 ? 0.0 : tail[i + 1]);
    }
    for (std::size_t i = 0; i < n; i++) {
        const bool aligned = (i + 1) % length == 0 || i + 1 < length;
        sums[i] = aligned ? head[i] : head[i] + tail[i + 1 - length];
    }
    return sums;
}

}  // namespace

double PartialSums::size(std::size_t variables, std::int64_t cells) {
    const auto n = static_cast<double>(variables);
    return n * (n + 3.0) * static_cast<double>(cells);
}

PartialSums::PartialSums(std::span<const std::int64_t> widths, std::int64_t cells) {
    levels_.reserve(widths.size());
    for (const std::int64_t width : widths) {
        levels_.push_back(levels_.empty() ? first(width, cells)
                                          : next(levels_.back(), width, cells));
        integrate(levels_.back());
    }
}

PartialSums::Level PartialSums::first(std::int64_t width, std::int64_t cells) {
    Level level;
    level.cells = static_cast<std::size_t>(std::min(width, cells));
    level.shape.assign(level.cells, 1.0);
    return level;
}

// f_k(s) is proportional to the integral of f_(k-1) over [s - w, s]: the rest of the cell of
// s - w, the whole cells between, the start of the cell of s.
PartialSums::Level PartialSums::next(const Level& level, std::int64_t width, std::int64_t cells) {
    Level sum;
    const std::size_t w = static_cast<std::size_t>(std::min(width, cells));
    sum.cells = std::min(level.cells + w, static_cast<std::size_t>(cells));
    sum.degree = level.degree + 1;
    const std::size_t d = level.degree;
    const auto binomial = binomials(d);
    std::vector<double> whole(level.cells);
    for (std::size_t j = 0; j < level.cells; j++) {
        double mass = 0.0;
        for (std::size_t i = 0; i <= d; i++) {
            mass += level.shape[j * (d + 1) + i] / binomial[i];
        }
        whole[j] = mass;  // times d + 1
    }
    std::vector<double> padded = whole;
    padded.resize(sum.cells, 0.0);
    const auto between = window_sums(padded, w - 1);
    sum.shape.assign(sum.cells * (d + 2), 0.0);
    for (std::size_t j = 0; j < sum.cells; j++) {
        double* c = &sum.shape[j * (d + 2)];
        const double middle = j == 0 ? 0.0 : between[j - 1];
        std::fill(c, c + d + 2, middle);
        if (j < level.cells) {
            double start = 0.0;
            for (std::size_t i = 0; i <= d; i++) {
                start += level.shape[j * (d + 1) + i] / binomial[i];
                c[i + 1] += start;
            }
        }
        if (j >= w && j - w < level.cells) {
            double rest = 0.0;
            for (std::size_t i = d + 1; i-- > 0;) {
                rest += level.shape[(j - w) * (d + 1) + i] / binomial[i];
                c[i] += rest;
            }
        }
    }
    // A factor is free: keeps the largest coefficient at 1.
    const double scale = 1.0 / *std::ranges::max_element(sum.shape);
    const auto row = binomials(d + 1);
    for (std::size_t j = 0; j < sum.cells; j++) {
        for (std::size_t i = 0; i <= d + 1; i++) {
            sum.shape[j * (d + 2) + i] *= scale * row[i];
        }
    }
    return sum;
}

void PartialSums::integrate(Level& level) {
    const std::size_t d = level.degree;
    const auto inner = binomials(d);
    const auto outer = binomials(d + 1);
    level.area.resize(level.cells * (d + 2));
    level.below.assign(level.cells + 1, 0.0);
    for (std::size_t j = 0; j < level.cells; j++) {
        double area = 0.0;
        double* c = &level.area[j * (d + 2)];
        c[0] = 0.0;
        for (std::size_t i = 0; i <= d; i++) {
            area += level.shape[j * (d + 1) + i] / inner[i] / static_cast<double>(d + 1);
            c[i + 1] = area * outer[i + 1];
        }
        level.below[j + 1] = level.below[j] + area;
    }
}

PartialSums::Place PartialSums::place(const Level& level, double s) {
    const double inside = std::clamp(s, 0.0, static_cast<double>(level.cells));
    const auto cell = std::min(static_cast<std::size_t>(inside), level.cells - 1);
    return {cell, inside - static_cast<double>(cell)};
}

double PartialSums::density(std::size_t k, double s) const {
    const Level& level = levels_[k - 1];
    if (s < 0.0 || s > static_cast<double>(level.cells)) {
        return 0.0;
    }
    const Place at = place(level, s);
    return bernstein(&level.shape[at.cell * (level.degree + 1)], level.degree, at.t);
}

// t with the integral of the cell's density from 0 to t equal to `area`: Newton, which bisection
// replaces where it would leave the bracket.
double PartialSums::invert(const Level& level, std::size_t cell, double area) {
    const std::size_t d = level.degree;
    const double* shape = &level.shape[cell * (d + 1)];
    const double* integral = &level.area[cell * (d + 2)];
    const double whole = level.below[cell + 1] - level.below[cell];
    if (area <= 0.0) {
        return 0.0;
    }
    double low = 0.0;
    double high = 1.0;
    double t = whole > 0.0 ? std::min(area / whole, 1.0) : 0.5;
    for (int step = 0; step < 80; step++) {
        const double error = bernstein(integral, d + 1, t) - area;
        (error > 0.0 ? high : low) = t;
        const double slope = bernstein(shape, d, t);
        double following = slope > 0.0 ? t - error / slope : -1.0;
        if (!(following > low && following < high)) {
            following = 0.5 * (low + high);
        }
        const double move = std::abs(following - t);
        t = following;
        if (move <= 1e-15 || high - low <= 1e-15) {
            break;
        }
    }
    return t;
}

double PartialSums::between(std::size_t k, double from, double to, double u) const {
    const Level& level = levels_[k - 1];
    const std::size_t d = level.degree;
    const auto integral = [&](const Place& at) {
        return level.below[at.cell] + bernstein(&level.area[at.cell * (d + 2)], d + 1, at.t);
    };
    const Place start = place(level, from);
    const Place end = place(level, to);
    const double least = integral(start);
    const double target = least + u * (integral(end) - least);
    // The last cell that begins at or below the target.
    const auto first = level.below.begin() + static_cast<std::ptrdiff_t>(start.cell) + 1;
    const auto last = level.below.begin() + static_cast<std::ptrdiff_t>(end.cell) + 1;
    const auto cell =
        static_cast<std::size_t>(std::upper_bound(first, last, target) - level.below.begin()) - 1;
    const double t = invert(level, cell, target - level.below[cell]);
    return std::clamp(static_cast<double>(cell) + t, from, to);
}

}  // namespace deadbeat::sched
