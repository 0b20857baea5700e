#include "fast.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

#include "lanes.hpp"
#include "pieces.hpp"

namespace deadbeat::sched::fast {

namespace {

const InstructionSet* find_lanes(const std::string& name) {
#if defined(__x86_64__) && defined(DEADBEAT_LANES_X86)
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2");
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (avx512 && (name.empty() || name == "avx512")) {
        return &avx512_kernels();
    }
    if (avx2 && (name.empty() || name == "avx2")) {
        return &avx2_kernels();
    }
#endif
    return name.empty() || name == "baseline" ? &baseline_kernels() : nullptr;
}

// Pieces that share a kernel; threads take them one by one.
struct Bucket {
    std::vector<Piece*> pieces;  // most tasks first, of these the longest first
    std::atomic<std::size_t> next{0};
    Piece* take() {
        const std::size_t i = next++;
        return i < pieces.size() ? pieces[i] : nullptr;
    }
};

// The memory of a group, and how pieces get into it and out again.
template <class I>
class Lanes {
  public:
    Lanes(int lanes, int slots, int tasks) : lanes_(lanes), rows_(tasks) {
        const auto row = static_cast<std::size_t>(lanes);
        const auto rows = static_cast<std::size_t>(tasks);
        const std::size_t total = row * (3 * rows + (rows + 1) + 2 * (rows + 3) +
                                         2 * static_cast<std::size_t>(slots) + 2);
        memory_ = std::make_unique<Line[]>((total * sizeof(I) + sizeof(Line) - 1) / sizeof(Line));
        I* at = reinterpret_cast<I*>(memory_.get());
        const auto part = [&](std::size_t count) {
            I* const from = at;
            at += count * row;
            return from;
        };
        group_.slots = slots;
        group_.tasks = tasks;
        group_.period = part(rows);
        group_.wcet = part(rows);
        group_.relative = part(rows);
        group_.release = part(rows + 1);
        group_.wait_key = part(rows + 3);
        group_.wait_rest = part(rows + 3);
        group_.key = part(static_cast<std::size_t>(slots));
        group_.finish = part(static_cast<std::size_t>(slots));
        group_.stop = part(1);
        group_.low = part(1);
        for (int lane = 0; lane < lanes; lane++) {
            clear(lane);
        }
    }

    void run(Kernel<I> kernel, const Pieces& all, Bucket& bucket) {
        for (int lane = 0; lane < lanes_; lane++) {
            fill(lane, all, bucket.take());
        }
        while (group_.active != 0) {
            const std::uint32_t done = kernel(group_);
            for (int lane = 0; lane < lanes_; lane++) {
                if ((done >> lane & 1) != 0) {
                    harvest(lane);
                    fill(lane, all, bucket.take());
                }
            }
        }
    }

  private:
    struct alignas(64) Line {
        std::byte bytes[64];
    };

    I& cell(I* table, int row, int lane) {
        return table[static_cast<std::ptrdiff_t>(row) * lanes_ + lane];
    }

    // Nothing is released before the horizon, 0.
    void clear(int lane) {
        group_.active &= ~(std::uint32_t{1} << lane);
        implicit_[lane] = true;
        tasks_[lane] = 1;
        for (int i = 0; i < rows_; i++) {
            cell(group_.period, i, lane) = 0;
            cell(group_.wcet, i, lane) = 0;
            cell(group_.relative, i, lane) = 0;
            cell(group_.release, i, lane) = i == 0 ? 0 : kNone<I>;
        }
        for (int i = 0; i < rows_ + 3; i++) {
            cell(group_.wait_key, i, lane) = kNone<I>;
            cell(group_.wait_rest, i, lane) = 0;
        }
        for (int s = 0; s < group_.slots; s++) {
            cell(group_.key, s, lane) = static_cast<I>(kNone<I> - s);
            cell(group_.finish, s, lane) = static_cast<I>(s);
        }
        group_.low[lane] = 1;
        group_.stop[lane] = 0;
    }

    void fill(int lane, const Pieces& all, Piece* piece) {
        clear(lane);
        pieces_[lane] = piece;
        if (piece != nullptr) {
            group_.active |= std::uint32_t{1} << lane;
            const I one = static_cast<I>(I{1} << piece->bits);
            group_.low[lane] = static_cast<I>(one - 1);
            group_.stop[lane] = static_cast<I>(static_cast<I>(piece->horizon) * one + one - 1);
            tasks_[lane] = piece->tasks;
            for (int i = 0; i < piece->tasks; i++) {
                const Parameters& p = all.parameters[piece->first + static_cast<std::size_t>(i)];
                cell(group_.period, i, lane) = static_cast<I>(static_cast<I>(p.period) * one);
                cell(group_.wcet, i, lane) = static_cast<I>(static_cast<I>(p.wcet) * one);
                cell(group_.relative, i, lane) = static_cast<I>(static_cast<I>(p.relative) * one);
                cell(group_.release, i, lane) = static_cast<I>(i);
                implicit_[lane] = implicit_[lane] && p.relative == p.period;
            }
        }
        group_.tasks = *std::max_element(tasks_, tasks_ + lanes_);
        group_.implicit = std::all_of(implicit_, implicit_ + lanes_, [](bool yes) { return yes; });
    }

    void harvest(int lane) {
        Piece& piece = *pieces_[lane];
        const I stop = group_.stop[lane];
        const I low = group_.low[lane];
        piece.miss = (stop & low) == low ? -1 : static_cast<Time>(stop >> piece.bits);
    }

    int lanes_;
    int rows_;
    std::unique_ptr<Line[]> memory_;
    Group<I> group_;
    Piece* pieces_[kLanesMax] = {};
    int tasks_[kLanesMax] = {};
    bool implicit_[kLanesMax] = {};
};

// Buckets in a fixed order: narrow before wide, by processors.
std::vector<std::unique_ptr<Bucket>> sorted(Pieces& pieces) {
    std::vector<Piece*> order;
    for (Piece& piece : pieces.list) {
        order.push_back(&piece);
    }
    std::ranges::sort(order, [](const Piece* a, const Piece* b) {
        return std::tie(a->wide, a->processors, b->tasks, b->work, a->system, a->first) <
               std::tie(b->wide, b->processors, a->tasks, a->work, b->system, b->first);
    });
    std::vector<std::unique_ptr<Bucket>> buckets;
    const Piece* last = nullptr;
    for (Piece* piece : order) {
        if (last == nullptr || last->wide != piece->wide || last->processors != piece->processors) {
            buckets.push_back(std::make_unique<Bucket>());
        }
        buckets.back()->pieces.push_back(piece);
        last = piece;
    }
    return buckets;
}

void run_bucket(const InstructionSet& set, const Pieces& all, Bucket& bucket) {
    const Piece& first = *bucket.pieces.front();
    const int slots = first.processors;
    if (first.wide) {
        Lanes<std::int64_t>(set.lanes64, slots, first.tasks).run(set.verdict64(slots), all, bucket);
    } else {
        Lanes<std::int32_t>(set.lanes32, slots, first.tasks).run(set.verdict32(slots), all, bucket);
    }
}

void run_all(const InstructionSet& set, Pieces& pieces, int threads) {
    const auto buckets = sorted(pieces);
    const auto work = [&] {
        for (const auto& bucket : buckets) {
            if (bucket->next < bucket->pieces.size()) {
                run_bucket(set, pieces, *bucket);
            }
        }
    };
    std::vector<std::jthread> others;
    for (int t = 1; t < threads; t++) {
        others.emplace_back(work);
    }
    work();
}

BatchRow row_of(const System& system, const Piece& piece, const Options& options, bool whole) {
    BatchRow row{};
    const bool missed = piece.miss >= 0;
    row.answer = static_cast<std::int64_t>(missed  ? Answer::no
                                           : whole ? Answer::yes
                                                   : Answer::undecided);
    row.proved = missed || whole ? 1 : 0;
    row.first_miss = missed ? piece.miss * piece.unit : -1;
    row.until = missed && options.stop_at_miss ? row.first_miss : piece.horizon * piece.unit;
    row.placed = 1;
    row.jobs = jobs_before(system, row.until);
    row.events = row.jobs;
    row.slack_min = kNever;
    return row;
}

}  // namespace

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
    for (std::size_t i = 0; i < batch.size(); i++) {
        done[i] = add_pieces(batch, i, options, pieces) ? 1 : 0;
    }
    run_all(*set, pieces, threads);
    for (const Piece& piece : pieces.list) {
        const System system = batch.system(piece.system);
        const bool whole =
            options.horizon <= 0 || piece.horizon * piece.unit == hyperperiod(system);
        rows[piece.system] = row_of(system, piece, options, whole);
    }
}

}  // namespace deadbeat::sched::fast
