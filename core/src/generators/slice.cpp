#include "slice.hpp"

#include <algorithm>
#include <cmath>

#include "text.hpp"

namespace deadbeat::sched {

namespace {

// Relative: what adding up the bounds may lose.
constexpr double kRounding = 1e-12;
constexpr double kCells = 512.0;
constexpr double kCellsOfMany = 1024.0;
constexpr std::size_t kMany = 32;  // tasks
// Ranges below so many cells would grow too much by rounding up.
constexpr double kTinyCells = 2.0;
// Above it rounding up the ranges would leave less than 1 in 100 vectors inside.
constexpr std::size_t kUnequalMax = 128;

}  // namespace

std::optional<Slice> Slice::make(std::span<const double> lower, std::span<const double> upper,
                                 double sum, std::string& reason) {
    Slice slice;
    slice.lower_.assign(lower.begin(), lower.end());
    slice.upper_.assign(upper.begin(), upper.end());
    double least = 0.0;
    double most = 0.0;
    double scale = std::abs(sum);
    for (std::size_t i = 0; i < lower.size(); i++) {
        if (!(std::isfinite(lower[i]) && std::isfinite(upper[i]) && lower[i] <= upper[i])) {
            reason = "task " + std::to_string(i) + " has no range from " + text(lower[i]) + " to " +
                     text(upper[i]);
            return std::nullopt;
        }
        least += lower[i];
        most += upper[i];
        scale += std::abs(lower[i]) + std::abs(upper[i]);
    }
    if (!std::isfinite(sum) || sum < least - kRounding * scale || sum > most + kRounding * scale) {
        reason = "the sum " + text(sum) + " is outside of what the bounds allow, " + text(least) +
                 " to " + text(most);
        return std::nullopt;
    }
    const double low = std::max(sum - least, 0.0);
    const double high = std::max(most - sum, 0.0);
    slice.mirrored_ = high < low;
    slice.rest_ = std::min(low, high);
    for (std::size_t i = 0; i < lower.size(); i++) {
        slice.widths_.push_back(std::min(upper[i] - lower[i], slice.rest_));
    }
    slice.plan(kRounding * scale);
    const std::size_t free = slice.gridded_.size() + slice.tiny_.size();
    if (free == 0) {
        return slice;
    }
    const auto cells = static_cast<std::int64_t>(std::ceil(slice.rest_ / slice.cell_));
    if (PartialSums::size(free, cells) > kTableMax || (!slice.common_ && free > kUnequalMax)) {
        reason = "there are too many tasks for cfs: at most " + std::to_string(kUnequalMax) +
                 " with bounds of their own, about 500 with common ones";
        return std::nullopt;
    }
    slice.sums_.emplace(slice.steps_, cells);
    double tiny = 0.0;
    for (const std::size_t task : slice.tiny_) {
        tiny += slice.widths_[task];
    }
    // The density rises to the middle of the sum's range and falls after it.
    double span = 0.0;
    for (const std::int64_t steps : slice.steps_) {
        span += static_cast<double>(steps);
    }
    const double end = slice.rest_ / slice.cell_;
    const double top = std::clamp(span / 2.0, std::max(end - tiny / slice.cell_, 0.0), end);
    slice.peak_ = slice.sums_->density(slice.gridded_.size(), top);
    return slice;
}

// A cell that every range is a whole number of: then nothing is rounded.
bool Slice::common_measure(double limit) {
    double smallest = rest_;
    for (const double width : widths_) {
        smallest = width > limit ? std::min(smallest, width) : smallest;
    }
    for (int divisor = 1; divisor <= 8; divisor++) {
        const double cell = smallest / divisor;
        const bool fits = std::ranges::all_of(widths_, [&](double width) {
            const double steps = width / cell;
            return width <= limit || width >= rest_ ||
                   std::abs(steps - std::round(steps)) <= 1e-10 * steps;
        });
        if (fits && rest_ / cell <= kCells) {
            cell_ = cell;
            return true;
        }
    }
    return false;
}

// Divides the tasks into fixed ones, tiny ones and those on the grid.
void Slice::plan(double limit) {
    if (rest_ <= limit) {
        rest_ = 0.0;
        return;
    }
    common_ = common_measure(limit);
    if (!common_) {
        cell_ = rest_ / (widths_.size() > kMany ? kCellsOfMany : kCells);
    }
    for (std::size_t i = 0; i < widths_.size(); i++) {
        const double steps = widths_[i] / cell_;
        if (widths_[i] <= limit) {
            continue;  // fixed
        }
        if (!common_ && steps < kTinyCells) {
            tiny_.push_back(i);
            continue;
        }
        gridded_.push_back(i);
        const bool whole =
            widths_[i] < rest_ && std::abs(steps - std::round(steps)) <= 1e-10 * steps;
        steps_.push_back(static_cast<std::int64_t>(whole ? std::round(steps) : std::ceil(steps)));
    }
}

void Slice::write(std::size_t task, double y, std::span<double> x) const {
    const double value = mirrored_ ? upper_[task] - y : lower_[task] + y;
    x[task] = std::clamp(value, lower_[task], upper_[task]);
}

bool Slice::draw(Random& random, std::span<double> x, std::int64_t& attempts) const {
    while (attempts > 0) {
        attempts--;
        if (attempt(random, x)) {
            return true;
        }
    }
    return false;
}

bool Slice::attempt(Random& random, std::span<double> x) const {
    std::ranges::copy(mirrored_ ? upper_ : lower_, x.begin());
    if (gridded_.empty()) {
        return true;
    }
    double s = rest_;
    for (const std::size_t task : tiny_) {
        const double y = random.unit() * widths_[task];
        write(task, y, x);
        s -= y;
    }
    const std::size_t n = gridded_.size();
    s /= cell_;
    if (!tiny_.empty() && random.unit() * peak_ >= sums_->density(n, s)) {
        return false;
    }
    for (std::size_t k = n; k-- > 0;) {
        const std::size_t task = gridded_[k];
        double y = s;
        if (k > 0) {
            const double before =
                sums_->between(k, s - static_cast<double>(steps_[k]), s, random.unit());
            y = s - before;
            s = before;
        }
        y *= cell_;
        if (y > widths_[task] * (1.0 + kRounding)) {
            return false;
        }
        write(task, y, x);
    }
    return true;
}

Window::Window(std::size_t tasks, double low, double high, double from, double to, bool mirrored)
    : low_(low),
      high_(high),
      mirrored_(mirrored),
      from_(from),
      to_(to),
      sums_(std::vector<std::int64_t>(tasks, 1),
            std::max<std::int64_t>(static_cast<std::int64_t>(std::ceil(to)), 1)) {}

std::optional<Window> Window::make(std::size_t tasks, double low, double high, double from,
                                   double to) {
    const auto n = static_cast<double>(tasks);
    const double width = high - low;
    double least = std::clamp((from - n * low) / width, 0.0, n);
    double most = std::clamp((to - n * low) / width, 0.0, n);
    const bool mirrored = least + most > n;
    if (mirrored) {
        std::swap(least, most);
        least = n - least;
        most = n - most;
    }
    if (PartialSums::size(tasks, static_cast<std::int64_t>(std::ceil(most))) > kTableMax) {
        return std::nullopt;
    }
    return Window(tasks, low, high, least, most, mirrored);
}

void Window::draw(Random& random, std::span<double> x) const {
    double s = sums_.between(x.size(), from_, to_, random.unit());
    for (std::size_t k = x.size(); k-- > 0;) {
        const double before = k == 0 ? 0.0 : sums_.between(k, s - 1.0, s, random.unit());
        const double y = (s - before) * (high_ - low_);
        x[k] = std::clamp(mirrored_ ? high_ - y : low_ + y, low_, high_);
        s = before;
    }
}

}  // namespace deadbeat::sched
