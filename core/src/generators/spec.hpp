#pragma once

#include <string>

#include "deadbeat/sched/generators.hpp"

namespace deadbeat::sched {

// Why no system of a sound spec exists, as far as a look at the bounds tells; else "".
std::string impossible(const GeneratorSpec& spec);

}  // namespace deadbeat::sched
