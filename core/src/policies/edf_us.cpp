// EDF-US[xi]: tasks of a utilisation above xi come first, the others by EDF. Without options,
// xi = m/(2m-1), for which sum of C/T <= m^2/(2m-1) suffices (implicit deadlines).
#include "priority.hpp"

namespace deadbeat::sched::edf_us {

namespace {

std::string mark_heavy(const Context& context, std::vector<char>& heavy) {
    Time numerator = context.options->threshold_numerator;
    Time denominator = context.options->threshold_denominator;
    if (numerator < 0 || denominator < 1) {
        return "the threshold " + std::to_string(numerator) + "/" + std::to_string(denominator) +
               " is no positive fraction";
    }
    if (numerator == 0) {
        numerator = context.system.processors;
        denominator = 2 * Time{context.system.processors} - 1;
    }
    for (std::size_t i = 0; i < heavy.size(); i++) {
        const Task& task = context.system.tasks[i];
        heavy[i] =
            static_cast<Wide>(task.wcet) * denominator > static_cast<Wide>(task.period) * numerator;
    }
    return "";
}

const PolicyRegistrar registrar(
    {.name = "edf-us",
     .title = "EDF-US[threshold]",
     .reference = "Srinivasan and Baruah, Information Processing Letters 84(2), 2002",
     .memoryless = true,
     .predictable = true,
     .predictable_reason = kFixedJobPriorities},
    make<Ranked<HeavyFirstKeys<mark_heavy>, Scope::global>>);

}  // namespace

}  // namespace deadbeat::sched::edf_us
