// What a spec may hold, and what no system can satisfy.
#include <algorithm>
#include <cmath>

#include "deadbeat/sched/generators.hpp"
#include "periods.hpp"
#include "spec.hpp"
#include "text.hpp"

namespace deadbeat::sched {

namespace {

using Found = std::vector<std::string>;

void whole(Found& found, const char* name, std::int64_t value, std::int64_t least,
           std::int64_t most, const char* shown = nullptr) {
    if (value < least || value > most) {
        found.push_back(std::string(name) + " is " + std::to_string(value) + ", must be " +
                        std::to_string(least) + " to " +
                        (shown == nullptr ? std::to_string(most) : shown));
    }
}

void real(Found& found, const char* name, double value, double least, double most) {
    if (!(value >= least && value <= most)) {
        found.push_back(std::string(name) + " is " + text(value) + ", must be " + text(least) +
                        " to " + text(most));
    }
}

template <class Value>
void ordered(Found& found, const char* low_name, Value low, const char* high_name, Value high) {
    if (low > high) {
        found.push_back(std::string(low_name) + " is above " + high_name);
    }
}

void word(Found& found, const char* name, const std::string& value,
          const std::vector<std::string>& known) {
    if (std::ranges::find(known, value) != known.end()) {
        return;
    }
    std::string list;
    for (const std::string& entry : known) {
        list += (list.empty() ? "" : ", ") + entry;
    }
    found.push_back(std::string(name) + " is \"" + value + "\", must be one of " + list);
}

template <class Entries>
std::vector<std::string> names(const Entries& entries) {
    std::vector<std::string> known;
    for (const auto& entry : entries) {
        known.push_back(entry.info.name);
    }
    return known;
}

}  // namespace

std::vector<std::string> defects(const GeneratorSpec& spec) {
    Found found;
    whole(found, "processors", spec.processors, 1, kProcessorsMax);
    whole(found, "tasks", spec.tasks, 1, static_cast<std::int64_t>(kTasksMax));
    if (!(spec.utilisation > 0.0 && spec.utilisation <= static_cast<double>(kTasksMax))) {
        found.push_back("utilisation is " + text(spec.utilisation) + ", must be above 0");
    }
    word(found, "utilisations", spec.utilisations, names(utilisation_samplers()));
    real(found, "low", spec.low, 0.0, 1.0);
    real(found, "high", spec.high, 0.0, 1.0);
    ordered(found, "low", spec.low, "high", spec.high);
    if (spec.utilisations == "uunifast" && (spec.low != 0.0 || spec.high != 1.0)) {
        found.push_back("uunifast has no bounds: leave low and high, or use uunifast-discard");
    }
    real(found, "mean", spec.mean, 0.0, 1e6);
    real(found, "heavy_share", spec.heavy_share, 0.0, 1.0);
    if (spec.utilisations == "bimodal") {
        real(found, "split", spec.split, spec.low, spec.high);
    }
    word(found, "periods", spec.periods, names(period_samplers()));
    whole(found, "period_low", spec.period_low, 1, kParameterMax, "2^60");
    whole(found, "period_high", spec.period_high, 1, kParameterMax, "2^60");
    ordered(found, "period_low", spec.period_low, "period_high", spec.period_high);
    whole(found, "granularity", spec.granularity, 1, kParameterMax, "2^60");
    whole(found, "lcm_limit", spec.lcm_limit, 2, kTimeMax, "2^62");
    word(found, "deadlines", spec.deadlines, {"implicit", "constrained", "arbitrary"});
    const double widest = spec.deadlines == "arbitrary" ? 1000.0 : 1.0;
    real(found, "deadline_low", spec.deadline_low, 0.0, widest);
    real(found, "deadline_high", spec.deadline_high, 0.0, widest);
    ordered(found, "deadline_low", spec.deadline_low, "deadline_high", spec.deadline_high);
    if (spec.deadlines == "arbitrary" &&
        spec.deadline_high * static_cast<double>(spec.period_high) >
            static_cast<double>(kParameterMax) / 2.0) {
        found.push_back("deadline_high times period_high is above 2^59");
    }
    word(found, "offsets", spec.offsets, {"zero", "uniform"});
    whole(found, "locks", spec.locks, 0, 1000);
    real(found, "lock_share", spec.lock_share, 0.0, 1.0);
    whole(found, "requests", spec.requests, 1, 1000);
    whole(found, "section_low", spec.section_low, 1, kParameterMax, "2^60");
    whole(found, "section_high", spec.section_high, 1, kParameterMax, "2^60");
    ordered(found, "section_low", spec.section_low, "section_high", spec.section_high);
    real(found, "tolerance", spec.tolerance, 0.0, 1e6);
    whole(found, "attempts", spec.attempts, 1, 1'000'000'000);
    return found;
}

std::string impossible(const GeneratorSpec& spec) {
    const auto* sampler = find_utilisation_sampler(spec.utilisations);
    const double n = spec.tasks;
    const double room = sampler->info.fixed_sum ? 1e-12 * n : spec.tolerance;
    const std::string sum =
        "utilisation " + text(spec.utilisation) + " of " + std::to_string(spec.tasks) + " tasks ";
    if (spec.utilisation > n * spec.high + room) {
        return sum + "needs tasks above " + text(spec.high);
    }
    if (spec.utilisation < n * spec.low - room) {
        return sum + "needs tasks below " + text(spec.low);
    }
    if (std::string none = require_periods(spec); !none.empty()) {
        return none;
    }
    const double least = n / static_cast<double>(spec.period_high);
    if (least > spec.utilisation + spec.tolerance) {
        return sum + "is below " + text(least) + ", which C = 1 makes with periods up to " +
               std::to_string(spec.period_high);
    }
    return "";
}

}  // namespace deadbeat::sched
