#pragma once

#include <span>

#include "deadbeat/sched/random.hpp"

namespace deadbeat::sched {

// Uniform over {values >= 0, sum of values = sum}: the sum of n - 1 of n such values has the
// distribution (s / sum)^(n-1) (Bini and Buttazzo, Real-Time Systems 30, 2005).
void uunifast(Random& random, double sum, std::span<double> values);

}  // namespace deadbeat::sched
