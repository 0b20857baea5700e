// Schedules as drawings: a line per processor, a letter per unit of time (task 0 is A), '.' idle.
#pragma once

#include <string>
#include <vector>

#include "deadbeat/sched/engine.hpp"
#include "deadbeat/sched/ties.hpp"

namespace deadbeat::sched {

using Tasks = std::vector<Task>;

// C, T and, unless given, D = T, O = 0, priority 0, any home, server as the task.
struct Make {
    Time c, t, d = 0, o = 0;
    std::int64_t priority = 0;
    std::int64_t home = -1;
    Time budget = 0, server_period = 0, server_deadline = 0;

    // NOLINTNEXTLINE: meant to convert, so that a list of these is a list of tasks
    operator Task() const {
        return {c, t, d == 0 ? t : d, o, priority, home, budget, server_period, server_deadline};
    }
};

inline Result run(std::int32_t m, const Tasks& tasks, Options options, Time horizon) {
    options.record_segments = true;
    options.record_jobs = true;
    return simulate({m, tasks}, options, {.horizon = horizon});
}

inline std::string drawing(const Result& result, std::int32_t m, Time horizon) {
    std::vector<std::string> lines(static_cast<std::size_t>(m),
                                   std::string(static_cast<std::size_t>(horizon), '.'));
    for (const Segment& segment : result.segments) {
        for (Time t = segment.from; t < segment.to; t++) {
            lines[static_cast<std::size_t>(segment.processor)][static_cast<std::size_t>(t)] =
                static_cast<char>('A' + segment.task);
        }
    }
    std::string text;
    for (const std::string& line : lines) {
        text += line + "\n";
    }
    return text;
}

// The schedule of `horizon` units, past misses.
inline std::string drawn(std::int32_t m, const Tasks& tasks, Options options, Time horizon) {
    options.stop_at_miss = false;
    return drawing(run(m, tasks, options, horizon), m, horizon);
}

inline Options with(const std::string& policy) {
    Options options;
    options.policy = policy;
    return options;
}

inline constexpr Time kNoMiss = kNever;

// First missed deadline of [0, horizon), or kNoMiss.
inline Time first_miss(std::int32_t m, const Tasks& tasks, const Options& options, Time horizon) {
    return run(m, tasks, options, horizon).first_miss;
}

}  // namespace deadbeat::sched
