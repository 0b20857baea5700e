// EDF on one processor, arrivals bounded by curves: the response times of edf-response with curves
// in place of periods. For each instant a of the busy period, with B = a + D_i the deadline of a
// job that arrives there, all as urgent work ends by the least fixed point of L = curve_i(a + 1)
// C_i + sum over j of min(curve_j(L), curve_j(B - D_j + 1)) C_j, R = max (L - a) (Bozhko and
// Brandenburg, ECRTS 2020). Only a at which a job of i arrives, or one of another task may that is
// due at B, need be tried: between them L stays as it is.
//
// Sufficient: no arrivals need be as many as the curve has in all windows at once.
#include "curves.hpp"

namespace deadbeat::sched::edf_arrival_curve {

namespace {

using namespace analysis;

class Responses {
  public:
    Responses(const System& system, const TestOptions& options)
        : all_(curves(system)), steps_(options) {}

    TestVerdict run(std::span<Time> bounds) {
        if (overload(all_)) {
            return kOverloaded;
        }
        const auto busy = fixed_point(1, [&](Wide length) {
            Wide work = 0;
            for (const Curve& each : all_) {
                work += each.work(length);
            }
            return work;
        });
        for (std::size_t i = 0; busy && i < all_.size(); i++) {
            Wide worst = all_[i].task.wcet;
            for (const Wide a : instants(i, *busy)) {
                if (const auto end = finish(i, a)) {
                    worst = std::max(worst, *end - a);
                }
            }
            if (worst > all_[i].task.deadline) {
                return kTooLong;
            }
            if (!bounds.empty()) {
                bounds[i] = static_cast<Time>(worst);
            }
        }
        return busy && steps_.spend(0) ? kAccepted : kBudget;
    }

  private:
    // Nothing: the steps are used up, and never enough again.
    template <class Next>
    std::optional<Wide> fixed_point(Wide from, Next next) {
        for (Wide x = from; steps_.spend(all_.size());) {
            const Wide then = next(x);
            if (then == x) {
                return x;
            }
            x = then;
        }
        return std::nullopt;
    }

    std::vector<Wide> instants(std::size_t i, Wide busy) {
        std::vector<Wide> found;
        for (const Curve& each : all_) {
            const Time later = each.task.deadline - all_[i].task.deadline;
            for (Wide count = 0; steps_.spend(1); count++) {
                const Wide a = each.distance(count) + later;
                if (a >= busy) {
                    break;
                }
                if (a >= 0) {
                    found.push_back(a);
                }
            }
        }
        std::ranges::sort(found);
        const auto rest = std::ranges::unique(found);
        found.erase(rest.begin(), rest.end());
        return found;
    }

    std::optional<Wide> finish(std::size_t i, Wide a) {
        const Wide own = all_[i].work(a + 1);
        const Wide due = a + all_[i].task.deadline;
        return fixed_point(own, [&](Wide length) {
            Wide work = own;
            for (std::size_t j = 0; j < all_.size(); j++) {
                if (j != i) {
                    work += std::min(all_[j].work(length),
                                     all_[j].work(due - all_[j].task.deadline + 1));
                }
            }
            return work;
        });
    }

    std::vector<Curve> all_;
    Steps steps_;
};

TestVerdict edf_arrival_curve(const System& system, const TestOptions& options,
                              std::span<Time> bounds) {
    if (system.processors != 1) {
        return kNotUni;
    }
    if (options.blocking > 0) {
        return not_applicable("tasks may be blocked");
    }
    return Responses(system, options).run(bounds);
}

const TestRegistrar registrar({.name = "edf-arrival-curve",
                               .title = "EDF on one processor, arrival curves",
                               .reference = "Bozhko and Brandenburg, ECRTS 2020",
                               .scheduler = "g-edf",
                               .model = "sporadic",
                               .ties = "any",
                               .deadlines = "arbitrary",
                               .kind = TestKind::sufficient,
                               .cost = 41,
                               .models = kArrivals},
                              edf_arrival_curve);

}  // namespace

}  // namespace deadbeat::sched::edf_arrival_curve
