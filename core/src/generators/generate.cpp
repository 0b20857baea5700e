// From utilisations and periods to task systems in whole numbers.
#include <algorithm>
#include <cmath>

#include "deadbeat/sched/generators.hpp"
#include "spec.hpp"
#include "text.hpp"

namespace deadbeat::sched {

Generator::Generator(const GeneratorSpec& spec) : spec_(spec) {
    const auto found = defects(spec);
    reason_ = found.empty() ? impossible(spec) : found.front();
    if (!reason_.empty()) {
        return;
    }
    draw_utilisations_ = find_utilisation_sampler(spec.utilisations)->make(spec, reason_);
    if (reason_.empty()) {
        draw_periods_ = find_period_sampler(spec.periods)->make(spec, reason_);
    }
}

namespace {

// C of utilisation u, or 0 where u T is above T.
Time execution_time(double u, Time period) {
    const double wanted = std::round(u * static_cast<double>(period));
    if (wanted >= static_cast<double>(period)) {
        // u T of u = 1 may come out a little off where T is beyond 2^53.
        return wanted > static_cast<double>(period) ? 0 : period;
    }
    return std::max(static_cast<Time>(wanted), Time{1});
}

// Uniform integer in [low, high], or the nearer end's where there is none.
Time uniform(Random& random, double low, double high, Time least, Time most) {
    const Time from = std::clamp(static_cast<Time>(std::ceil(low)), least, most);
    const Time to = std::clamp(static_cast<Time>(std::floor(high)), from, most);
    return from + static_cast<Time>(random.below(static_cast<std::uint64_t>(to - from) + 1));
}

Time deadline(const GeneratorSpec& spec, Random& random, const Task& task) {
    const auto period = static_cast<double>(task.period);
    const auto wcet = static_cast<double>(task.wcet);
    if (spec.deadlines == "constrained") {
        const double room = period - wcet;
        return uniform(random, wcet + spec.deadline_low * room, wcet + spec.deadline_high * room,
                       task.wcet, task.period);
    }
    if (spec.deadlines == "arbitrary") {
        return uniform(random, spec.deadline_low * period, spec.deadline_high * period, task.wcet,
                       kParameterMax);
    }
    return task.period;
}

}  // namespace

// Sets C; whether the utilisation is what was asked for.
bool Generator::fits(std::span<const double> shares, std::span<const Time> periods,
                     std::span<Task> tasks) const {
    double sum = 0.0;
    for (std::size_t i = 0; i < tasks.size(); i++) {
        const Time wcet = execution_time(shares[i], periods[i]);
        if (wcet == 0) {
            return false;
        }
        tasks[i] = Task{};
        tasks[i].wcet = wcet;
        tasks[i].period = periods[i];
        sum += static_cast<double>(wcet) / static_cast<double>(periods[i]);
    }
    // What adding n quotients may lose, so that a tolerance of 0 can be met.
    const double rounding = 1e-15 * static_cast<double>(tasks.size()) * std::max(sum, 1.0);
    if (std::abs(sum - spec_.utilisation) > spec_.tolerance + rounding) {
        return false;
    }
    const double most = spec_.processors;
    if (spec_.utilisation > most || sum < most - 1e-9 * most) {
        return true;
    }
    return compare_utilisation({spec_.processors, tasks}, spec_.processors) <= 0;
}

void Generator::finish(Random& random, std::span<Task> tasks) const {
    for (Task& task : tasks) {
        task.home = -1;
        task.deadline = deadline(spec_, random, task);
        if (spec_.offsets == "uniform") {
            task.offset = static_cast<Time>(random.below(static_cast<std::uint64_t>(task.period)));
        }
    }
}

// Where a task's sections are longer than its C together, all are shortened alike; none is left of
// those that come below 1.
void Generator::share(Random& random, std::span<const Task> tasks,
                      std::vector<Section>& sections) const {
    const auto lengths = static_cast<std::uint64_t>(spec_.section_high - spec_.section_low) + 1;
    for (std::size_t i = 0; i < tasks.size() && spec_.locks > 0; i++) {
        const std::size_t first = sections.size();
        Wide held = 0;
        for (std::int64_t lock = 0; lock < spec_.locks; lock++) {
            if (random.unit() < spec_.lock_share) {
                const std::uint64_t count =
                    random.below(static_cast<std::uint64_t>(spec_.requests));
                const auto length = static_cast<Time>(random.below(lengths));
                sections.push_back({static_cast<std::int64_t>(i), lock,
                                    static_cast<std::int64_t>(count) + 1,
                                    spec_.section_low + length});
                held += Wide{sections.back().count} * sections.back().length;
            }
        }
        const auto mine = std::span(sections).subspan(first);
        for (Section& section : held > tasks[i].wcet ? mine : mine.first(0)) {
            section.length = static_cast<Time>(Wide{section.length} * tasks[i].wcet / held);
        }
    }
    std::erase_if(sections, [](const Section& section) { return section.length == 0; });
}

std::string Generator::generate(std::uint64_t seed, std::uint64_t index, std::span<Task> tasks,
                                std::vector<Section>& sections) const {
    Random random(seed, index);
    std::vector<double> shares(tasks.size());
    std::vector<Time> periods(tasks.size());
    std::int64_t attempts = spec_.attempts;
    while (attempts > 0) {
        std::string failed = draw_utilisations_(random, shares, attempts);
        if (!failed.empty()) {
            return failed;
        }
        draw_periods_(random, periods);
        if (fits(shares, periods, tasks)) {
            finish(random, tasks);
            share(random, tasks, sections);
            return "";
        }
    }
    return "none of " + std::to_string(spec_.attempts) + " draws of " +
           std::to_string(spec_.tasks) + " tasks has utilisation " + text(spec_.utilisation) +
           " within " + text(spec_.tolerance) +
           " once C is a whole number: raise the tolerance or the periods";
}

std::string Generator::utilisations(std::uint64_t seed, std::uint64_t index,
                                    std::span<double> values) const {
    Random random(seed, index);
    std::int64_t attempts = spec_.attempts;
    return draw_utilisations_(random, values, attempts);
}

}  // namespace deadbeat::sched
