#include "pieces.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>
#include <span>
#include <tuple>

#include "deadbeat/sched/policy.hpp"
#include "deadbeat/sched/ties.hpp"

namespace deadbeat::sched::fast {

namespace {

// Releases in [0, horizon) of some tasks.
Wide releases(const System& system, std::span<const std::int32_t> tasks, Time horizon) {
    Wide jobs = 0;
    for (const std::int32_t task : tasks) {
        const Time period = system.tasks[at(task)].period;
        jobs += horizon / period + (horizon % period > 0 ? 1 : 0);
    }
    return jobs;
}

// The first release that has `budget` others before it; [0, most) has more than that.
Time budget_end(const System& system, std::span<const std::int32_t> tasks, std::int64_t budget,
                Time most) {
    Time least = 0;
    while (least < most) {
        const Time middle = least + (most - least) / 2;
        if (releases(system, tasks, middle) >= budget) {
            most = middle;
        } else {
            least = middle + 1;
        }
    }
    Time end = kNever;
    for (const std::int32_t task : tasks) {
        const Time period = system.tasks[at(task)].period;
        const Time past = most % period;
        end = std::min(end, past == 0 ? most : most - past + period);
    }
    return end;
}

struct End {
    Time at;
    bool whole;  // the hyper-period lies before it
};

// Where the general engine stops if nothing misses; nothing where only that can tell.
std::optional<End> end_of(const System& system, std::span<const std::int32_t> tasks,
                          const Options& options) {
    const std::optional<Time> h = hyperperiod(system);
    Time end = h.value_or(kTimeMax);
    if (options.horizon > 0) {
        // As decide(): who runs on past misses gets the figures as far as was asked.
        end = options.stop_at_miss ? std::min(end, options.horizon)
                                   : std::min(options.horizon, kTimeMax);
    }
    if (releases(system, tasks, end) > options.budget) {
        end = budget_end(system, tasks, options.budget, end);
    } else if (end == kTimeMax) {
        return std::nullopt;
    }
    return End{end, h && end >= *h};
}

template <class I>
bool fits(Wide latest, std::int32_t bits) {
    return latest < static_cast<Wide>(kNoJob<I> >> bits);
}

// What the policy does with the system, the members of each cluster in the order that wins ties;
// nothing where only the general engine can tell.
std::optional<JobOrder> order_of(const System& system, const Options& options) {
    const Context context{system, &options, tie_rank(system, options.ties)};
    const std::unique_ptr<Policy> policy = find_policy(options.policy)->make();
    if (context.rank.empty() || !policy->prepare(context).empty()) {
        return std::nullopt;
    }
    std::optional<JobOrder> order = policy->order();
    if (!order) {
        return std::nullopt;
    }
    std::erase_if(order->members, [](const auto& tasks) { return tasks.empty(); });
    const auto key = [&](std::int32_t task) {
        const std::optional<std::int64_t> level = order->level[at(task)];
        return std::tuple(!level, level.value_or(0), context.rank[at(task)]);
    };
    for (auto& tasks : order->members) {
        std::ranges::sort(tasks, {}, key);
    }
    return order;
}

bool add_piece(const System& system, std::size_t index, std::span<const std::int32_t> tasks,
               const JobOrder& order, const Options& options, Time horizon, Pieces& pieces) {
    Piece piece{};
    const bool fixed = order.level[at(tasks.front())].has_value();  // those come first
    piece.system = index;
    piece.first = pieces.members.size();
    piece.tasks = static_cast<std::int32_t>(tasks.size());
    piece.processors = std::min(order.processors, piece.tasks);
    piece.metrics = options.metrics;
    piece.kind = fixed ? Kind::stop_fixed : Kind::stop;
    piece.bits = static_cast<std::int32_t>(std::bit_width(at(piece.tasks - 1)));
    piece.bits = std::max(1, piece.bits) + (piece.metrics ? 1 : 0);
    if (piece.metrics && piece.processors > 64) {
        return false;  // processors are bits
    }
    Time longest = 0;
    piece.unit = horizon;
    for (const Task& t : system.tasks) {
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
        pieces.members.push_back({t.period / piece.unit, t.wcet / piece.unit,
                                  t.deadline / piece.unit, task,
                                  order.level[at(task)].has_value()});
    }
    pieces.list.push_back(piece);
    return true;
}

}  // namespace

bool suits_lanes(const Options& options, Model model) {
    return model != Model::sporadic && options.arrival == Arrival::periodic && !options.costs.any();
}

bool add_pieces(const Batch& batch, std::size_t i, const Options& options, Pieces& pieces) {
    const System system = batch.system(i);
    if (!constrained(system) || !synchronous(system)) {
        return false;
    }
    std::vector<std::int32_t> all(system.tasks.size());
    std::iota(all.begin(), all.end(), 0);
    const std::optional<End> last = end_of(system, all, options);
    const std::optional<JobOrder> order = last ? order_of(system, options) : std::nullopt;
    if (!order) {
        return false;
    }
    pieces.ends[i] = last->at;
    pieces.whole[i] = last->whole ? 1 : 0;
    const std::size_t pieces_before = pieces.list.size();
    const std::size_t members_before = pieces.members.size();
    for (const auto& tasks : order->members) {
        Time end = last->at;
        if (!options.metrics && order->members.size() > 1) {
            // A cluster without a miss in its own hyper-period has none later.
            std::optional<Time> own = 1;
            for (const std::int32_t task : tasks) {
                own = own ? checked_lcm(*own, system.tasks[at(task)].period, end) : own;
            }
            end = own.value_or(end);
        }
        if (!add_piece(system, i, tasks, *order, options, end, pieces)) {
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
    Wide most = 0;  // |sum of all slack| before the horizon
    for (std::int32_t i = 0; i < piece.tasks; i++) {
        Member& member = pieces.members[piece.first + at(i)];
        member.slack = 0;
        latest = std::max(latest, static_cast<Wide>(piece.horizon) +
                                      std::max({member.period, member.wcet, member.relative}) + 1);
        const Wide jobs = piece.horizon / member.period + 1;
        if (jobs > kTimeMax / (static_cast<Wide>(piece.horizon) + member.relative + 1)) {
            return false;
        }
        most += jobs * (static_cast<Wide>(piece.horizon) + member.relative + 1);
    }
    return fits<std::int64_t>(std::max(latest, most), piece.bits);
}

}  // namespace deadbeat::sched::fast
