#include "pieces.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "deadbeat/sched/ties.hpp"
#include "lanes.hpp"

namespace deadbeat::sched::fast {

namespace {

// The general engine counts an event per instant: no more than a release and a completion per job,
// so that a budget above this is never used up.
bool within_budget(const System& system, Time horizon, std::int64_t budget, double& work) {
    Wide jobs = 0;
    for (const Task& task : system.tasks) {
        jobs += (horizon + task.period - 1) / task.period;
    }
    work = static_cast<double>(jobs);
    return 3 * jobs + 3 <= budget;
}

template <class I>
bool fits(Time latest, std::int32_t bits) {
    return latest < static_cast<Time>(kNoJob<I> >> bits);
}

}  // namespace

bool suits_lanes(const Options& options, Model model) {
    return model == Model::periodic_sync && options.arrival == Arrival::periodic &&
           !options.costs.any() && options.policy == "g-edf" && !options.metrics;
}

bool add_pieces(const Batch& batch, std::size_t i, const Options& options, Pieces& pieces) {
    const System system = batch.system(i);
    if (!constrained(system) || !synchronous(system)) {
        return false;
    }
    const std::optional<Time> h = hyperperiod(system);
    if (!h) {
        return false;
    }
    const Time horizon = options.horizon > 0 ? std::min(options.horizon, *h) : *h;
    Piece piece{};
    if (!within_budget(system, horizon, options.budget, piece.work)) {
        return false;
    }
    const std::vector<std::int32_t> rank = tie_rank(system, options.ties);
    if (rank.empty()) {
        return false;
    }
    piece.system = i;
    piece.first = pieces.parameters.size();
    piece.tasks = static_cast<std::int32_t>(system.tasks.size());
    piece.processors = std::min(system.processors, piece.tasks);
    piece.bits =
        std::max(1, static_cast<int>(std::bit_width(static_cast<std::uint32_t>(piece.tasks - 1))));
    piece.unit = horizon;
    Time longest = 0;
    for (const Task& task : system.tasks) {
        for (const Time value : {task.period, task.wcet, task.deadline}) {
            piece.unit = piece.unit == 1 ? 1 : std::gcd(piece.unit, value);
            longest = std::max(longest, value);
        }
    }
    piece.horizon = horizon / piece.unit;
    const Time latest = piece.horizon + longest / piece.unit + 1;  // both below 2^62
    piece.wide = !fits<std::int32_t>(latest, piece.bits);
    if (piece.wide && !fits<std::int64_t>(latest, piece.bits)) {
        return false;
    }
    pieces.parameters.resize(piece.first + system.tasks.size());
    for (std::size_t t = 0; t < system.tasks.size(); t++) {
        const Task& task = system.tasks[t];
        pieces.parameters[piece.first + static_cast<std::size_t>(rank[t])] = {
            task.period / piece.unit, task.wcet / piece.unit, task.deadline / piece.unit,
            static_cast<std::int32_t>(t)};
    }
    pieces.list.push_back(piece);
    return true;
}

}  // namespace deadbeat::sched::fast
