#include "pieces.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>
#include <span>

#include "../fixed_priority.hpp"
#include "../policies/clusters.hpp"
#include "deadbeat/sched/ties.hpp"

namespace deadbeat::sched::fast {

namespace {

// Policies that the lanes know, and how.
struct Known {
    const char* policy;
    Scope scope;
    bool fixed_priority;
};
constexpr Known kKnown[] = {
    {"g-edf", Scope::global, false},    {"p-edf", Scope::partitioned, false},
    {"c-edf", Scope::clustered, false}, {"g-fp", Scope::global, true},
    {"p-fp", Scope::partitioned, true}, {"c-fp", Scope::clustered, true},
};

const Known* find_known(const std::string& policy) {
    const auto* const found =
        std::ranges::find_if(kKnown, [&](const Known& known) { return policy == known.policy; });
    return found == std::end(kKnown) ? nullptr : found;
}

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

// Releases in [0, horizon) of some tasks.
Wide releases(const System& system, std::span<const std::int32_t> tasks, Time horizon) {
    Wide jobs = 0;
    for (const std::int32_t task : tasks) {
        const Time period = system.tasks[at(task)].period;
        jobs += (static_cast<Wide>(horizon) + period - 1) / period;
    }
    return jobs;
}

template <class I>
bool fits(Wide latest, std::int32_t bits) {
    return latest < static_cast<Wide>(kNoJob<I> >> bits);
}

// The tasks of a scheduler in the order that wins ties.
struct Division {
    std::vector<std::vector<std::int32_t>> members;  // of each cluster
    std::int32_t processors = 0;                     // of each cluster
};

std::optional<Division> divide(const System& system, const Options& options, const Known& known) {
    const Context context{system, &options, tie_rank(system, options.ties)};
    if (context.rank.empty()) {
        return std::nullopt;
    }
    Clusters clusters;
    if (!clusters.prepare(context, known.scope, known.fixed_priority).empty()) {
        return std::nullopt;
    }
    std::vector<std::int64_t> levels(system.tasks.size(), 0);
    if (known.fixed_priority) {
        auto found = priority_levels(system, options.priorities);
        if (!found) {
            return std::nullopt;
        }
        levels = std::move(*found);
    }
    Division division;
    division.processors = clusters.size();
    for (std::int32_t k = 0; k < clusters.count(); k++) {
        const auto members = clusters.members(k);
        std::vector<std::int32_t> tasks(members.begin(), members.end());
        std::ranges::sort(tasks, [&](std::int32_t a, std::int32_t b) {
            return std::pair(levels[at(a)], context.rank[at(a)]) <
                   std::pair(levels[at(b)], context.rank[at(b)]);
        });
        if (!tasks.empty()) {
            division.members.push_back(std::move(tasks));
        }
    }
    return division;
}

bool add_piece(const System& system, std::size_t index, std::span<const std::int32_t> tasks,
               std::int32_t processors, const Options& options, bool fixed, Time horizon,
               Pieces& pieces) {
    Piece piece{};
    piece.system = index;
    piece.first = pieces.members.size();
    piece.tasks = static_cast<std::int32_t>(tasks.size());
    piece.processors = std::min(processors, piece.tasks);
    piece.metrics = options.metrics || fixed;
    piece.kind = fixed ? Kind::stop_fixed : Kind::stop;
    piece.bits = static_cast<std::int32_t>(std::bit_width(at(piece.tasks - 1)));
    piece.bits = std::max(1, piece.bits) + (piece.metrics ? 1 : 0);
    if (piece.metrics && piece.processors > 64) {
        return false;  // processors are bits
    }
    Time longest = 0;
    piece.unit = horizon;
    for (const std::int32_t task : tasks) {
        const Task& t = system.tasks[at(task)];
        for (const Time value : {t.period, t.wcet, t.deadline}) {
            piece.unit = piece.unit == 1 ? 1 : std::gcd(piece.unit, value);
            longest = std::max(longest, value);
        }
    }
    piece.horizon = horizon / piece.unit;
    const Wide latest = static_cast<Wide>(piece.horizon) + longest / piece.unit + 1;
    piece.wide =
        !fits<std::int32_t>(latest, piece.bits) || (piece.metrics && piece.processors > 32);
    if (piece.wide && !fits<std::int64_t>(latest, piece.bits)) {
        return false;
    }
    piece.work = static_cast<double>(releases(system, tasks, horizon));
    for (const std::int32_t task : tasks) {
        const Task& t = system.tasks[at(task)];
        pieces.members.push_back(
            {t.period / piece.unit, t.wcet / piece.unit, t.deadline / piece.unit, task, fixed});
    }
    pieces.list.push_back(piece);
    return true;
}

}  // namespace

bool suits_lanes(const Options& options, Model model) {
    return model != Model::sporadic && options.arrival == Arrival::periodic &&
           !options.costs.any() && find_known(options.policy) != nullptr;
}

bool add_pieces(const Batch& batch, std::size_t i, const Options& options, Pieces& pieces) {
    const System system = batch.system(i);
    const std::optional<Time> h = hyperperiod(system);
    if (!constrained(system) || !synchronous(system) || !h) {
        return false;
    }
    const Known& known = *find_known(options.policy);
    const Time horizon = options.horizon > 0 ? std::min(options.horizon, *h) : *h;
    std::vector<std::int32_t> all(system.tasks.size());
    std::iota(all.begin(), all.end(), 0);
    // The general engine's events: instants of releases, completions and deadlines. A budget above
    // all of them is never used up.
    if (3 * releases(system, all, horizon) + 3 > options.budget) {
        return false;
    }
    const std::optional<Division> division = divide(system, options, known);
    if (!division) {
        return false;  // refused, or unknown: the general engine says why
    }
    const std::size_t pieces_before = pieces.list.size();
    const std::size_t members_before = pieces.members.size();
    for (const auto& tasks : division->members) {
        Time end = horizon;
        if (!options.metrics && division->members.size() > 1) {
            // A cluster without a miss in its own hyper-period has none later.
            Time own = 1;
            for (const std::int32_t task : tasks) {
                own = std::lcm(own, system.tasks[at(task)].period);  // divides *h
            }
            end = std::min(end, own);
        }
        if (!add_piece(system, i, tasks, division->processors, options, known.fixed_priority, end,
                       pieces)) {
            pieces.list.resize(pieces_before);
            pieces.members.resize(members_before);
            return false;
        }
    }
    return true;
}

bool make_run_on(Piece& piece, Pieces& pieces) {
    piece.wide = true;
    piece.kind = piece.kind == Kind::stop_fixed ? Kind::run_on_fixed : Kind::run_on;
    Wide latest = piece.horizon;
    Wide most = 0;  // |sum of a task's slack| before the horizon
    for (std::int32_t i = 0; i < piece.tasks; i++) {
        Member& member = pieces.members[piece.first + at(i)];
        member.slack = 0;
        latest = std::max(latest, static_cast<Wide>(piece.horizon) +
                                      std::max({member.period, member.wcet, member.relative}) + 1);
        const Wide jobs = piece.horizon / member.period + 1;
        if (jobs > kTimeMax / (static_cast<Wide>(piece.horizon) + member.relative + 1)) {
            return false;
        }
        most = std::max(most, jobs * (static_cast<Wide>(piece.horizon) + member.relative + 1));
    }
    return fits<std::int64_t>(std::max(latest, most), piece.bits);
}

}  // namespace deadbeat::sched::fast
