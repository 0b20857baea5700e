// FF-DBF, exactly. Accepted when some s >= max C_i / D_i exists with, for all t,
// sum F_i(t, s) <= (m - (m - 1) s) t, where F_i(t, s) = q C_i + max(0, C_i - max(0, D_i - r) s),
// q = floor(t / T_i), r = t mod T_i: the demand in t, jobs released before it having run at speed
// s.
//
// For fixed s the left side rises from qT + D - C/s to qT + D and is flat elsewhere (s D_i >= C_i),
// so only t = qT_i + D_i matter. F_i <= u_i (t + T_i - D_i) bounds them where m - (m - 1) s > U,
// and F_i(t + T_i) = F_i(t) + C_i bounds them by the hyper-period where m - (m - 1) s >= U, which
// is necessary. For fixed t the difference of the sides is convex and piecewise linear in s, so the
// values that satisfy t are an interval: from s = max C_i / D_i up, Newton steps for whichever t is
// violated never pass the least s that satisfies all, and a difference that does not fall in s
// proves that there is none. No grid of s, unlike other implementations.
#include <cmath>

#include "shared.hpp"

namespace deadbeat::sched::ff_dbf {

namespace {

using namespace analysis;

struct Speed {  // p / q
    Time p, q;
};

enum class Step : int { fine, raised, impossible, overflow };

// Checks t under s, and raises s as far as t asks for.
Step check(const System& system, Time t, Speed& s) {
    const Wide m = system.processors;
    Step step = Step::fine;
    while (true) {
        Wide level = -m * t;  // sides' difference is level - fall * s
        Wide fall = -(m - 1) * t;
        for (const Task& task : system.tasks) {
            const Time rest = t % task.period;
            const Time missing = std::max<Time>(0, task.deadline - rest);
            level += static_cast<Wide>(t / task.period) * task.wcet;
            // C > missing s, both below 2^60 times 2^62
            if (static_cast<Wide>(task.wcet) * s.q > static_cast<Wide>(missing) * s.p) {
                level += task.wcet;
                fall += missing;
            }
        }
        Wide left = 0;
        Wide right = 0;
        if (__builtin_mul_overflow(level, static_cast<Wide>(s.q), &left) ||
            __builtin_mul_overflow(fall, static_cast<Wide>(s.p), &right)) {
            return Step::overflow;
        }
        if (left <= right) {
            return step;
        }
        if (fall <= 0) {
            return Step::impossible;
        }
        const Wide divisor = greatest_divisor(level, fall);
        if (level / divisor > kTimeMax || fall / divisor > kParameterMax) {
            return Step::overflow;
        }
        s = {static_cast<Time>(level / divisor), static_cast<Time>(fall / divisor)};
        step = Step::raised;
    }
}

// The first t above `after` of the form qT + D.
Time next_point(const System& system, Time after) {
    Time next = kNever;
    for (const Task& task : system.tasks) {
        const Time jobs = after < task.deadline ? 0 : (after - task.deadline) / task.period + 1;
        next = std::min(next, task.deadline + jobs * task.period);
    }
    return next;
}

// Sign of m - (m - 1) s - U.
int compare_slope(const System& system, Speed s) {
    FractionSum sum;
    for (const Task& task : system.tasks) {
        sum.add(task.wcet, task.period);
    }
    sum.add(static_cast<Wide>(system.processors - 1) * s.p, s.q);
    return -sum.compare(system.processors);
}

std::optional<Time> limit_of(const System& system, Speed s, int slope_sign,
                             std::optional<Time> period) {
    if (slope_sign == 0) {
        return period;
    }
    const double m = system.processors;
    const double slope =
        m - (m - 1.0) * (static_cast<double>(s.p) / static_cast<double>(s.q)) - m * 0x1p-48;
    return nearer(demand_limit(system.tasks, slope), period);
}

TestVerdict search(const System& system, Speed s, const TestOptions& options) {
    Steps steps(options);
    const auto period = period_limit(system);
    bool raised = true;
    while (raised) {
        raised = false;
        for (Time t = next_point(system, 0), limit = -1;; t = next_point(system, t)) {
            if (limit < 0) {
                const int sign = compare_slope(system, s);
                if (sign < 0) {
                    return not_accepted("");
                }
                const auto found = limit_of(system, s, sign, period);
                if (!found) {
                    return undecided("no bound of the intervals to look at");
                }
                limit = *found;
            }
            if (t > limit) {
                break;
            }
            if (!steps.spend(2 * system.tasks.size())) {
                return kBudget;
            }
            switch (check(system, t, s)) {
                case Step::fine:
                    break;
                case Step::raised:
                    raised = true;
                    limit = -1;
                    break;
                case Step::impossible:
                    return not_accepted("");
                case Step::overflow:
                    return kTooLarge;
            }
        }
    }
    return kAccepted;
}

TestVerdict run(const System& system, const TestOptions& options, std::span<Time>) {
    if (!constrained(system)) {
        return kNotConstrained;
    }
    if (!fits_deadlines(system.tasks)) {
        return kTooLong;
    }
    Speed s{0, 1};
    for (const Task& task : system.tasks) {
        if (compare_fractions(task.wcet, task.deadline, s.p, s.q) > 0) {
            s = {task.wcet, task.deadline};
        }
    }
    return search(system, s, options);
}

const TestRegistrar registrar(
    {.name = "ff-dbf",
     .title = "FF-DBF",
     .reference = "Baruah, Bonifaci, Marchetti-Spaccamela and Stiller, Real-Time Systems 46, 2010",
     .scheduler = "g-edf",
     .model = "sporadic",
     .ties = "any",
     .deadlines = "constrained",
     .kind = TestKind::sufficient,
     .cost = 40},
    run);

}  // namespace

}  // namespace deadbeat::sched::ff_dbf
