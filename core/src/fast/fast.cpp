#include "fast.hpp"

#include <algorithm>
#include <memory>
#include <span>
#include <thread>
#include <tuple>

#include "group.hpp"
#include "has.hpp"
#include "pieces.hpp"

namespace deadbeat::sched::fast {

namespace {

// What this core was built with and this machine has, widest first.
std::vector<const InstructionSet*> instruction_sets() {
    std::vector<const InstructionSet*> found;
#if defined(DEADBEAT_LANES_AVX512)
    if (has_avx512()) {
        found.push_back(&avx512_kernels());
    }
#endif
#if defined(DEADBEAT_LANES_AVX2)
    if (has_avx2()) {
        found.push_back(&avx2_kernels());
    }
#endif
#if defined(DEADBEAT_LANES_BASELINE)
    found.push_back(&baseline_kernels());
#endif
    return found;
}

const InstructionSet* find_lanes(const std::string& name) {
    for (const InstructionSet* set : instruction_sets()) {
        if (name.empty() || name == set->name) {
            return set;
        }
    }
    return nullptr;
}

bool same_kernel(const Piece& a, const Piece& b) {
    return a.metrics == b.metrics && a.kind == b.kind && a.wide == b.wide &&
           a.processors == b.processors;
}

std::vector<std::unique_ptr<Bucket>> sorted(std::vector<Piece*> order) {
    std::ranges::sort(order, [](const Piece* a, const Piece* b) {
        return std::tie(a->metrics, a->kind, a->wide, a->processors, b->tasks, b->work, a->first) <
               std::tie(b->metrics, b->kind, b->wide, b->processors, a->tasks, a->work, b->first);
    });
    std::vector<std::unique_ptr<Bucket>> buckets;
    for (Piece* piece : order) {
        if (buckets.empty() || !same_kernel(*buckets.back()->pieces.front(), *piece)) {
            buckets.push_back(std::make_unique<Bucket>());
        }
        buckets.back()->pieces.push_back(piece);
    }
    return buckets;
}

void run_bucket(const InstructionSet& set, Pieces& all, Bucket& bucket) {
    const Piece& first = *bucket.pieces.front();
    if (first.wide) {
        const auto kernel = first.metrics ? set.metrics64(first.processors, first.kind)
                                          : set.verdict64(first.processors, first.kind);
        Lanes<std::int64_t>(set.lanes64, first).run(kernel, all, bucket);
    } else {
        const auto kernel = first.metrics ? set.metrics32(first.processors, first.kind)
                                          : set.verdict32(first.processors, first.kind);
        Lanes<std::int32_t>(set.lanes32, first).run(kernel, all, bucket);
    }
}

// Every piece is simulated by itself: the threads only share the work out.
void run_all(const InstructionSet& set, Pieces& all, std::vector<Piece*> order, int threads) {
    const auto buckets = sorted(std::move(order));
    const auto work = [&] {
        for (const auto& bucket : buckets) {
            if (bucket->next < bucket->pieces.size()) {
                run_bucket(set, all, *bucket);
            }
        }
    };
    std::vector<std::jthread> others;
    for (int t = 1; t < threads; t++) {
        others.emplace_back(work);
    }
    work();
}

// The pieces of one system.
using Parts = std::span<const Piece>;

Time first_miss(Parts parts) {
    Time miss = kNever;
    for (const Piece& piece : parts) {
        miss = piece.miss < 0 ? miss : std::min(miss, piece.miss * piece.unit);
    }
    return miss;
}

void add_metrics(const System& system, const Pieces& all, Parts parts, BatchRow& row) {
    std::vector<Time> slack(system.tasks.size());
    Wide response = 0;
    Wide tardiness = 0;
    for (const Piece& piece : parts) {
        row.missed += piece.missed;
        row.completed += piece.completed;
        row.preemptions += piece.preemptions;
        row.migrations += piece.migrations;
        row.task_migrations += piece.task_migrations;
        if (piece.completed > 0) {
            row.slack_min = std::min(row.slack_min, piece.slack_min * piece.unit);
        }
        row.response_max = std::max(row.response_max, piece.response_max * piece.unit);
        tardiness += static_cast<Wide>(piece.tardiness) * piece.unit;
        for (std::int32_t i = 0; i < piece.tasks; i++) {
            const Member& member = all.members[piece.first + static_cast<std::size_t>(i)];
            slack[static_cast<std::size_t>(member.task)] = member.slack * piece.unit;
            response += static_cast<Wide>(member.completed) * member.relative * piece.unit;
        }
    }
    row.tardiness_max = row.completed > 0 ? std::max<Time>(0, -row.slack_min) : 0;
    // As the row of a verdict is summed (batch.cpp): equal to the last bit.
    Wide sum = 0;
    double share = 0.0;
    for (std::size_t i = 0; i < slack.size(); i++) {
        const Task& task = system.tasks[i];
        // All jobs due by then, complete or not: D <= T, so they were released before.
        row.judged += row.until < task.deadline ? 0 : (row.until - task.deadline) / task.period + 1;
        sum += slack[i];
        share += static_cast<double>(slack[i]) / static_cast<double>(task.period);
    }
    if (row.completed > 0) {
        row.slack_mean = static_cast<double>(sum) / static_cast<double>(row.completed);
        row.slack_share_mean = share / static_cast<double>(row.completed);
        // A response is the relative deadline less the slack.
        row.response_mean =
            static_cast<double>(response - sum) / static_cast<double>(row.completed);
        row.tardiness_mean = static_cast<double>(tardiness) / static_cast<double>(row.completed);
    }
}

BatchRow row_of(const System& system, const Options& options, const Pieces& all, Parts parts) {
    BatchRow row{};
    const std::size_t index = parts.front().system;
    const Time miss = first_miss(parts);
    Answer answer = miss < kNever ? Answer::no : Answer::yes;
    if (answer == Answer::yes && all.whole[index] == 0) {
        answer = overload(system).empty() ? Answer::undecided : Answer::no;
    }
    row.answer = static_cast<std::int64_t>(answer);
    row.proved = answer == Answer::undecided ? 0 : 1;
    row.first_miss = miss < kNever ? miss : -1;
    row.until = miss < kNever && options.stop_at_miss ? miss : all.ends[index];
    row.placed = 1;
    row.jobs = jobs_before(system, row.until);
    row.events = row.jobs;
    row.slack_min = kNever;
    if (options.metrics) {
        add_metrics(system, all, parts, row);
    }
    return row;
}

// With metrics a piece with a miss runs on; or it stops the others at that instant. Both from the
// start again. Returns whether the lanes can.
bool goes_on(const Options& options, Pieces& all, std::span<Piece> parts,
             std::vector<Piece*>& again) {
    const Time miss = first_miss(parts);
    if (!options.metrics || miss == kNever) {
        return true;
    }
    if (options.stop_at_miss) {
        for (Piece& piece : parts) {
            if (piece.miss < 0 || piece.miss * piece.unit > miss) {
                piece.horizon = miss / piece.unit;  // a sum of parameters: no remainder
                again.push_back(&piece);
            }
        }
        return true;
    }
    for (Piece& piece : parts) {
        if (piece.miss >= 0) {
            if (options.skip_overruns || !make_run_on(piece, all)) {
                return false;
            }
            again.push_back(&piece);
        }
    }
    return true;
}

std::vector<std::span<Piece>> by_system(Pieces& pieces) {
    std::vector<std::span<Piece>> systems;
    for (std::size_t i = 0; i < pieces.list.size();) {
        std::size_t end = i;
        while (end < pieces.list.size() && pieces.list[end].system == pieces.list[i].system) {
            end++;
        }
        systems.push_back(std::span(pieces.list).subspan(i, end - i));
        i = end;
    }
    return systems;
}

}  // namespace

std::vector<std::string> lane_names() {
    std::vector<std::string> names;
    for (const InstructionSet* set : instruction_sets()) {
        names.emplace_back(set->name);
    }
    return names;
}

std::int64_t jobs_before(const System& system, Time until) {
    std::int64_t jobs = 0;
    for (const Task& task : system.tasks) {
        jobs += task.offset < until ? (until - task.offset + task.period - 1) / task.period : 0;
    }
    return jobs;
}

void decide_in_lanes(const Batch& batch, const Options& options, Model model, int threads,
                     const std::string& lanes, std::vector<BatchRow>& rows,
                     std::vector<std::uint8_t>& done) {
    const InstructionSet* set = find_lanes(lanes);
    if (set == nullptr || !suits_lanes(options, model)) {
        return;
    }
    Pieces pieces;
    pieces.ends.resize(batch.size());
    pieces.whole.resize(batch.size());
    for (std::size_t i = 0; i < batch.size(); i++) {
        done[i] = add_pieces(batch, i, options, pieces) ? 1 : 0;
    }
    std::vector<Piece*> order;
    for (Piece& piece : pieces.list) {
        order.push_back(&piece);
    }
    run_all(*set, pieces, std::move(order), threads);
    std::vector<Piece*> again;
    const auto systems = by_system(pieces);
    for (const auto& parts : systems) {
        if (!goes_on(options, pieces, parts, again)) {
            done[parts.front().system] = 0;
        }
    }
    run_all(*set, pieces, std::move(again), threads);
    for (const auto& parts : systems) {
        const std::size_t i = parts.front().system;
        if (done[i] != 0) {
            rows[i] = row_of(batch.system(i), options, pieces, parts);
        }
    }
}

}  // namespace deadbeat::sched::fast
