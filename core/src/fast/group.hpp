// The memory of a group of lanes, and how pieces get into it and their results out of it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>

#include "lanes.hpp"
#include "pieces.hpp"

namespace deadbeat::sched::fast {

// Pieces that share a kernel; threads take them one by one.
struct Bucket {
    std::vector<Piece*> pieces;  // most tasks first, of these the longest first
    std::atomic<std::size_t> next{0};
    Piece* take() {
        const std::size_t i = next++;
        return i < pieces.size() ? pieces[i] : nullptr;
    }
};

template <class I>
class Lanes {
  public:
    Lanes(int lanes, const Piece& largest) : lanes_(lanes), rows_(largest.tasks) {
        group_.slots = largest.processors;
        // First how much, then where.
        reserve(largest, nullptr);
        memory_ = std::make_unique<Line[]>((used_ * sizeof(I) + sizeof(Line) - 1) / sizeof(Line));
        used_ = 0;
        reserve(largest, reinterpret_cast<I*>(memory_.get()));
        for (int lane = 0; lane < lanes; lane++) {
            clear(lane);
        }
    }

    void run(Kernel<I> kernel, Pieces& all, Bucket& bucket) {
        for (int lane = 0; lane < lanes_; lane++) {
            fill(lane, all, bucket.take());
        }
        while (group_.active != 0) {
            const std::uint32_t done = kernel(group_);
            for (int lane = 0; lane < lanes_; lane++) {
                if ((done >> lane & 1) != 0) {
                    harvest(lane, all);
                    fill(lane, all, bucket.take());
                }
            }
        }
    }

  private:
    struct alignas(64) Line {
        std::byte bytes[64];
    };

    void reserve(const Piece& largest, I* base) {
        const auto part = [&](I*& array, int rows) {
            array = base == nullptr ? nullptr : base + used_;
            used_ += static_cast<std::size_t>(rows) * static_cast<std::size_t>(lanes_);
        };
        Group<I>& g = group_;
        for (I** array : {&g.period, &g.wcet, &g.relative, &g.release}) {
            part(*array, rows_);
        }
        for (I** array : {&g.wait_key, &g.wait_rest}) {
            part(*array, rows_ + 3);
        }
        for (I** array : {&g.key, &g.finish}) {
            part(*array, g.slots);
        }
        part(g.stop, 1);
        part(g.low, 1);
        if (largest.metrics || largest.kind == Kind::stop_fixed) {
            part(g.wait_due, rows_ + 3);
            part(g.due, g.slots);
            part(g.fixed, rows_);
        }
        if (!largest.metrics) {
            return;
        }
        for (I** array : {&g.place, &g.home}) {
            part(*array, g.slots);
        }
        for (I** array : {&g.last, &g.state, &g.slack}) {
            part(*array, rows_);
        }
        for (I** array : {&g.free, &g.now, &g.missed, &g.late, &g.tardiness, &g.slack_min,
                          &g.response_max, &g.preemptions, &g.migrations, &g.task_migrations}) {
            part(*array, 1);
        }
    }

    I& cell(I* table, int row, int lane) const {
        return table[static_cast<std::ptrdiff_t>(row) * lanes_ + lane];
    }
    bool metrics() const { return group_.place != nullptr; }
    bool dues() const { return group_.due != nullptr; }

    // Nothing is released before the horizon, 0.
    void clear(int lane) {
        group_.active &= ~(std::uint32_t{1} << lane);
        implicit_[lane] = true;
        tasks_[lane] = 1;
        for (int i = 0; i < rows_; i++) {
            for (I* table : {group_.period, group_.wcet, group_.relative}) {
                cell(table, i, lane) = 0;
            }
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
        if (dues()) {
            clear_dues(lane);
        }
        if (metrics()) {
            clear_metrics(lane);
        }
    }

    void clear_dues(int lane) {
        for (int i = 0; i < rows_; i++) {
            cell(group_.fixed, i, lane) = kNone<I>;
        }
        for (int i = 0; i < rows_ + 3; i++) {
            cell(group_.wait_due, i, lane) = kNone<I>;
        }
        for (int s = 0; s < group_.slots; s++) {
            cell(group_.due, s, lane) = kNone<I>;
        }
    }

    void clear_metrics(int lane) {
        for (int i = 0; i < rows_; i++) {
            for (I* table : {group_.last, group_.state, group_.slack}) {
                cell(table, i, lane) = 0;
            }
        }
        std::uint64_t free = 0;
        for (int s = 0; s < group_.slots; s++) {
            free |= std::uint64_t{1} << s;
            cell(group_.finish, s, lane) = kNone<I>;
            cell(group_.place, s, lane) = 0;
            cell(group_.home, s, lane) = 0;
        }
        group_.free[lane] = static_cast<I>(free);
        for (I* row : {group_.now, group_.late, group_.tardiness, group_.response_max,
                       group_.preemptions, group_.migrations, group_.task_migrations}) {
            row[lane] = 0;
        }
        group_.missed[lane] = kNone<I>;
        group_.slack_min[lane] = kNone<I>;
    }

    void fill(int lane, const Pieces& all, Piece* piece) {
        clear(lane);
        pieces_[lane] = piece;
        if (piece != nullptr) {
            group_.active |= std::uint32_t{1} << lane;
            const I one = static_cast<I>(I{1} << piece->bits);
            const auto packed = [&](Time time) {
                return static_cast<I>(static_cast<I>(time) * one);
            };
            group_.low[lane] = static_cast<I>(one - 1);
            group_.stop[lane] = static_cast<I>(packed(piece->horizon) + one - 1);
            tasks_[lane] = piece->tasks;
            for (int i = 0; i < piece->tasks; i++) {
                const Member& member = all.members[piece->first + static_cast<std::size_t>(i)];
                cell(group_.period, i, lane) = packed(member.period);
                cell(group_.wcet, i, lane) = packed(member.wcet);
                cell(group_.relative, i, lane) = packed(member.relative);
                implicit_[lane] = implicit_[lane] && member.relative == member.period;
                const auto index = static_cast<I>(metrics() ? 2 * i : i);
                cell(group_.release, i, lane) = index;
                if (dues() && member.fixed) {
                    cell(group_.fixed, i, lane) = index;
                }
            }
        }
        group_.tasks = *std::max_element(tasks_, tasks_ + lanes_);
        group_.implicit = std::all_of(implicit_, implicit_ + lanes_, [](bool yes) { return yes; });
    }

    void harvest(int lane, Pieces& all) {
        Piece& piece = *pieces_[lane];
        if (metrics()) {
            harvest_metrics(lane, piece, all);
            return;
        }
        const I stop = group_.stop[lane];
        const I low = group_.low[lane];
        piece.miss = (stop & low) == low ? -1 : static_cast<Time>(stop >> piece.bits);
    }

    static bool runs_on(const Piece& piece) {
        return piece.kind == Kind::run_on || piece.kind == Kind::run_on_fixed;
    }

    // An unfinished job at the end of a lane.
    struct Left {
        int task;
        Time due;
    };

    std::vector<Left> left_over(int lane, const Piece& piece, const Pieces& all) const {
        std::vector<Left> left;
        const auto add = [&](I key, I due) {
            if (key < kNoJob<I>) {
                const auto task = static_cast<int>((key & group_.low[lane]) >> 1);
                const bool fixed =
                    piece.kind == Kind::stop_fixed || piece.kind == Kind::run_on_fixed;
                left.push_back({task, static_cast<Time>((fixed ? due : key) >> piece.bits)});
            }
        };
        for (int s = 0; s < group_.slots; s++) {
            add(cell(group_.key, s, lane), cell(group_.due, s, lane));
        }
        for (int i = 0; i < group_.waiting; i++) {
            add(cell(group_.wait_key, i, lane), cell(group_.wait_due, i, lane));
        }
        // Released in time, but its predecessor was complete only at the end (run on).
        for (int i = 0; i < group_.tasks; i++) {
            const I key = cell(group_.release, i, lane);
            const auto release = static_cast<Time>(key >> piece.bits);
            if (runs_on(piece) && key < kNoJob<I> && release < piece.horizon) {
                const auto task = static_cast<int>((key & group_.low[lane]) >> 1);
                const Member& member = all.members[piece.first + static_cast<std::size_t>(task)];
                left.push_back({task, release + member.relative});
            }
        }
        return left;
    }

    void harvest_metrics(int lane, Piece& piece, Pieces& all) const {
        const std::vector<Left> left = left_over(lane, piece, all);
        Time miss = group_.missed[lane] == kNone<I>
                        ? kNever
                        : static_cast<Time>(group_.missed[lane] >> piece.bits);
        for (const Left& job : left) {
            miss = std::min(miss, job.due);
        }
        piece.miss = miss <= piece.horizon ? miss : -1;
        const Time until = piece.miss >= 0 && !runs_on(piece) ? piece.miss : piece.horizon;
        piece.missed = group_.late[lane];
        piece.tardiness = static_cast<Time>(group_.tardiness[lane] >> piece.bits);
        for (int i = 0; i < piece.tasks; i++) {
            Member& member = all.members[piece.first + static_cast<std::size_t>(i)];
            member.completed = (until + member.period - 1) / member.period;
            member.slack = static_cast<Time>(cell(group_.slack, i, lane) >> piece.bits);
        }
        for (const Left& job : left) {
            // It, and those released behind it.
            Member& member = all.members[piece.first + static_cast<std::size_t>(job.task)];
            const Time release = job.due - member.relative;
            member.completed -= (until - release + member.period - 1) / member.period;
            piece.missed += job.due <= until ? (until - job.due) / member.period + 1 : 0;
        }
        piece.completed = 0;
        for (int i = 0; i < piece.tasks; i++) {
            piece.completed += all.members[piece.first + static_cast<std::size_t>(i)].completed;
        }
        piece.preemptions = group_.preemptions[lane];
        piece.migrations = group_.migrations[lane];
        piece.task_migrations = group_.task_migrations[lane];
        piece.slack_min = group_.slack_min[lane] == kNone<I>
                              ? kNever
                              : static_cast<Time>(group_.slack_min[lane] >> piece.bits);
        piece.response_max = static_cast<Time>(group_.response_max[lane] >> piece.bits);
    }

    int lanes_;
    int rows_;
    std::size_t used_ = 0;
    std::unique_ptr<Line[]> memory_;
    Group<I> group_;
    Piece* pieces_[kLanesMax] = {};
    int tasks_[kLanesMax] = {};
    bool implicit_[kLanesMax] = {};
};

}  // namespace deadbeat::sched::fast
