#include "uniprocessor.hpp"

#include <algorithm>

namespace deadbeat::sched {

namespace {

constexpr Wide ceil_div(Wide a, Wide b) { return (a + b - 1) / b; }

// Work of `tasks` released in [0, t), all released at 0. At most t + sum of C, since the
// utilisation is at most 1: no overflow.
Wide request(std::span<const Task> tasks, Time t) {
    Wide sum = 0;
    for (const Task& task : tasks) {
        sum += ceil_div(t, task.period) * task.wcet;
    }
    return sum;
}

// Work that is released and due in [0, t].
Wide demand(std::span<const Task> tasks, Time t) {
    Wide sum = 0;
    for (const Task& task : tasks) {
        if (task.deadline <= t) {
            sum += static_cast<Wide>((t - task.deadline) / task.period + 1) * task.wcet;
        }
    }
    return sum;
}

// The latest absolute deadline before t, or 0.
Time deadline_before(std::span<const Task> tasks, Time t) {
    Time latest = 0;
    for (const Task& task : tasks) {
        if (task.deadline < t) {
            const Time jobs = (t - 1 - task.deadline) / task.period;
            latest = std::max(latest, jobs * task.period + task.deadline);
        }
    }
    return latest;
}

// Length of the first busy period, or 0 when it is out of reach.
Time busy_period(std::span<const Task> tasks, std::int64_t& steps) {
    Wide length = 0;
    for (const Task& task : tasks) {
        length += task.wcet;
    }
    while (length <= kTimeMax && steps > 0) {
        const Wide next = request(tasks, static_cast<Time>(length));
        if (next == length) {
            return static_cast<Time>(length);
        }
        length = next;
        steps -= static_cast<std::int64_t>(tasks.size());
    }
    return 0;
}

// Response times of the last of `tasks` over its first busy period: Lehoczky, RTSS 1990.
Fits last_fits(std::span<const Task> tasks, std::int64_t& steps) {
    const Task& task = tasks.back();
    const auto above = tasks.first(tasks.size() - 1);
    Wide finish = 0;
    for (Wide job = 0;; job++) {
        const Wide own = (job + 1) * task.wcet;
        finish = std::max(finish + task.wcet, own);
        while (true) {
            if (finish - job * task.period > task.deadline) {
                return Fits::no;
            }
            if (finish > kTimeMax || steps <= 0) {
                return Fits::undecided;
            }
            const Wide next = own + request(above, static_cast<Time>(finish));
            steps -= static_cast<std::int64_t>(tasks.size());
            if (next == finish) {
                break;
            }
            finish = next;
        }
        if (finish <= (job + 1) * task.period) {
            return Fits::yes;
        }
    }
}

}  // namespace

// Zhang and Burns, IEEE Transactions on Computers 58(9), 2009: from the end of the busy period
// backwards, each step to where the demand itself lies.
Fits edf_fits(std::span<const Task> tasks, std::int64_t& steps) {
    if (std::ranges::all_of(tasks, [](const Task& t) { return t.deadline >= t.period; })) {
        return Fits::yes;  // Liu and Layland: sum of C/T <= 1 is enough
    }
    const Time length = busy_period(tasks, steps);
    if (length == 0) {
        return Fits::undecided;
    }
    const Time first =
        std::ranges::min_element(tasks, {}, [](const Task& t) { return t.deadline; })->deadline;
    Time t = deadline_before(tasks, length);
    while (t >= first && steps > 0) {
        const Wide due = demand(tasks, t);
        if (due > t) {
            return Fits::no;
        }
        t = due < t ? static_cast<Time>(due) : deadline_before(tasks, t);
        steps -= static_cast<std::int64_t>(tasks.size());
    }
    return t < first ? Fits::yes : Fits::undecided;
}

Fits fixed_priority_fits(std::span<const Task> tasks, std::int64_t& steps) {
    for (std::size_t count = 1; count <= tasks.size(); count++) {
        const Fits found = last_fits(tasks.first(count), steps);
        if (found != Fits::yes) {
            return found;
        }
    }
    return Fits::yes;
}

}  // namespace deadbeat::sched
