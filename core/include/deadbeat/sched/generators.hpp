// Random task systems: one file under src/generators/ is one distribution, and registers itself.
#pragma once

#include <cstdint>
#include <functional>
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
    Time lcm_limit = 100'000;            // the hyper-period stays below, where a rule limits it
    std::string deadlines = "implicit";  // implicit, constrained (uniform in [C, T]), arbitrary
    double deadline_low = 0.0, deadline_high = 1.0;  // place in [C, T], or factor of T if arbitrary
    std::string offsets = "zero";                    // zero, uniform in [0, T)
    // Of each lock each task has, with probability lock_share, a section: its requests by a job
    // uniform in [1, requests], its length in [section_low, section_high].
    std::int64_t locks = 0;
    double lock_share = 0.5;
    std::int64_t requests = 1;
    Time section_low = 1, section_high = 15;
    // |sum of C/T - utilisation| allowed after rounding C.
    double tolerance = 0.08;
    // Draws of utilisations, those within a rejection sampler included, before a system is given
    // up.
    std::int64_t attempts = 100'000;
};

// Every defect of `spec`, one line each ("tasks is 0, must be 1 to 65535"); empty: sound.
std::vector<std::string> defects(const GeneratorSpec& spec);

struct Sampler {
    std::string name, title, reference;
    bool fixed_sum;  // utilisations only: the sum is what was asked, not only within the tolerance
};

// Fills `values`, one utilisation per task; "" or why there are none. Takes what it draws from
// `attempts`, and gives up at 0.
using UtilisationLaw =
    std::function<std::string(Random& random, std::span<double> values, std::int64_t& attempts)>;
// Fills `values`, one period per task.
using PeriodLaw = std::function<void(Random& random, std::span<Time> values)>;

// The law of a sound spec with what its draws share already computed. No law: `reason` says why no
// vector exists. A law keeps no state: threads may share it.
struct UtilisationEntry {
    Sampler info;
    UtilisationLaw (*make)(const GeneratorSpec& spec, std::string& reason);
};
struct PeriodEntry {
    Sampler info;
    PeriodLaw (*make)(const GeneratorSpec& spec, std::string& reason);
};
const std::vector<UtilisationEntry>& utilisation_samplers();
const std::vector<PeriodEntry>& period_samplers();
const UtilisationEntry* find_utilisation_sampler(const std::string& name);
const PeriodEntry* find_period_sampler(const std::string& name);

// At namespace scope of a distribution's file: const PeriodRegistrar registrar({...}, make);
struct UtilisationRegistrar {
    UtilisationRegistrar(Sampler info, decltype(UtilisationEntry::make) make);
};
struct PeriodRegistrar {
    PeriodRegistrar(Sampler info, decltype(PeriodEntry::make) make);
};

// A spec made ready for many systems.
class Generator {
  public:
    explicit Generator(const GeneratorSpec& spec);

    // "" or why no system of the spec exists; then nothing else may be called.
    const std::string& reason() const { return reason_; }

    // Task system number `index` of (spec, seed): a function of these alone, whatever else is
    // drawn. Fills `tasks` (spec.tasks places); "" or why there is none. C = max(1, round(u T)) <=
    // min(D, T), the sum of C/T within spec.tolerance, and at most spec.processors where the
    // utilisation aimed at is; what does not fit is drawn again. Appends its sections, which are
    // drawn last: without them the system is the same.
    std::string generate(std::uint64_t seed, std::uint64_t index, std::span<Task> tasks,
                         std::vector<Section>& sections) const;

    // The utilisations alone, before periods and rounding.
    std::string utilisations(std::uint64_t seed, std::uint64_t index,
                             std::span<double> values) const;

  private:
    bool fits(std::span<const double> shares, std::span<const Time> periods,
              std::span<Task> tasks) const;
    void finish(Random& random, std::span<Task> tasks) const;
    void share(Random& random, std::span<const Task> tasks, std::vector<Section>& sections) const;

    GeneratorSpec spec_;
    std::string reason_;
    UtilisationLaw draw_utilisations_;
    PeriodLaw draw_periods_;
};

// `count` vectors uniform over {x: lower <= x <= upper, sum of x = sum}, one after the other;
// "" or why there are none.
std::string sample_cfs(std::span<const double> lower, std::span<const double> upper, double sum,
                       std::uint64_t seed, std::uint64_t first, std::span<double> vectors);

}  // namespace deadbeat::sched
