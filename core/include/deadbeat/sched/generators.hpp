// Random task systems: one file under src/generators/ is one distribution, and registers itself.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "deadbeat/sched/random.hpp"
#include "deadbeat/sched/system.hpp"

namespace deadbeat::sched {

struct GeneratorSpec {
    std::int32_t processors = 4;
    std::int32_t tasks = 10;
    double utilisation = 2.0;  // sum of C/T aimed at
    std::string utilisations = "randfixedsum";
    double low = 0.0, high = 1.0;     // bounds of each task's utilisation
    double mean = 0.0;                // exponential: mean; 0: utilisation / tasks
    double heavy_share = 0.33;        // bimodal: share of heavy tasks, light in [low, split),
    double split = 0.5;               // heavy in [split, high]
    std::string periods = "uniform";  // uniform, log-uniform, harmonic, goossens-macq, lcm-limited
    Time period_low = 10, period_high = 250;
    Time granularity = 1;                // periods are multiples of it
    Time lcm_limit = 100'000;            // of rules that limit the hyper-period
    std::string deadlines = "implicit";  // implicit, constrained (uniform in [C, T]), arbitrary
    double deadline_low = 0.0, deadline_high = 1.0;  // place in [C, T], or factor of T if arbitrary
    std::string offsets = "zero";                    // zero, uniform in [0, T)
    // |sum of C/T - utilisation| allowed after rounding C, and attempts before it gives up.
    double tolerance = 0.02;
    std::int64_t attempts = 100'000;
};

struct Sampler {
    std::string name, title, reference;
    bool fixed_sum;  // utilisations only: the sum is what was asked
};

// Fills `values`, one utilisation per task. False: no vector exists for the spec, or none was
// found.
using UtilisationSampler = bool (*)(const GeneratorSpec& spec, Random& random,
                                    std::span<double> values);
// Fills `values`, one period per task. False as above.
using PeriodSampler = bool (*)(const GeneratorSpec& spec, Random& random, std::span<Time> values);

struct UtilisationEntry {
    Sampler info;
    UtilisationSampler sample;
};
struct PeriodEntry {
    Sampler info;
    PeriodSampler sample;
};
const std::vector<UtilisationEntry>& utilisation_samplers();
const std::vector<PeriodEntry>& period_samplers();
struct UtilisationRegistrar {
    UtilisationRegistrar(Sampler info, UtilisationSampler sample);
};
struct PeriodRegistrar {
    PeriodRegistrar(Sampler info, PeriodSampler sample);
};

// Task system number `index` of (spec, seed): a function of these alone, whatever else is drawn.
// Fills `tasks` (spec.tasks places); "" or why there is none. C = max(1, round(u T)) with the sum
// within spec.tolerance, u <= 1, C <= D.
std::string generate(const GeneratorSpec& spec, std::uint64_t seed, std::uint64_t index,
                     std::span<Task> tasks);

}  // namespace deadbeat::sched
