// Uniform integers one after the other; a draw is kept while the least common multiple of those
// kept stays below the limit, else drawn again.
//
// Drawing again until one is kept is drawing uniformly from those that would be kept. They are
// listed once the multiple is so large that few remain. A period kept before would be kept again,
// so that one always remains.
#include <algorithm>
#include <memory>
#include <numeric>

#include "periods.hpp"

namespace deadbeat::sched::periods_lcm_limited {

namespace {

constexpr Time kCandidatesMax = 1 << 20;
// Draws from one multiple before those that it keeps are listed; a list costs about as much as it
// has entries.
constexpr int kTries = 64;

// lcm(multiple, t) < limit as t / gcd(multiple, t) <= (limit - 1) / multiple: never overflows.
template <class Integer>
bool kept(Integer multiple, Integer room, Integer t) {
    const Integer rest = multiple % t;
    return rest == 0 || (room > 1 && t / std::gcd(t, rest) <= room);
}

// Integer: 32 bits where the limit allows, for the division's sake.
template <class Integer>
class Draws {
  public:
    Draws(const std::vector<Integer>& all, Integer limit) : all_(all), limit_(limit) {}

    Integer next(Random& random) {
        const Integer room = (limit_ - 1) / multiple_;
        if (room >= all_.back()) {
            return keep(all_[random.below(all_.size())]);
        }
        while (room > 1 && listed_for_ != multiple_ && tries_ < kTries) {
            tries_++;
            const auto& from = listed_for_ == 0 ? all_ : left_;
            const Integer t = from[random.below(from.size())];
            if (kept(multiple_, room, t)) {
                return keep(t);
            }
        }
        if (listed_for_ != multiple_) {
            list(room);
        }
        return keep(left_[random.below(left_.size())]);
    }

  private:
    Integer keep(Integer t) {
        const Integer following = t / std::gcd(t, multiple_ % t) * multiple_;
        tries_ = following == multiple_ ? tries_ : 0;
        multiple_ = following;
        return t;
    }

    // What is kept at a multiple is kept at every divisor of it: the list only shrinks.
    void list(Integer room) {
        if (listed_for_ == 0) {
            left_ = all_;
        }
        std::erase_if(left_, [&](Integer t) { return !kept(multiple_, room, t); });
        listed_for_ = multiple_;
    }

    const std::vector<Integer>& all_;
    std::vector<Integer> left_;  // kept at listed_for_
    Integer limit_;
    Integer multiple_ = 1;
    Integer listed_for_ = 0;  // 0: never
    int tries_ = 0;
};

template <class Integer>
PeriodLaw law(const Multiples& range, Time limit) {
    std::vector<Integer> all;
    for (Time t = range.first; t <= range.last && t < limit; t++) {
        all.push_back(static_cast<Integer>(t));
    }
    return [unit = range.unit, limit = static_cast<Integer>(limit),
            shared = std::make_shared<const std::vector<Integer>>(std::move(all))](
               Random& random, std::span<Time> values) {
        Draws<Integer> draws(*shared, limit);
        for (Time& value : values) {
            value = static_cast<Time>(draws.next(random)) * unit;
        }
    };
}

PeriodLaw make(const GeneratorSpec& spec, std::string& reason) {
    Multiples range = multiples(spec);
    // lcm(g a, g b) = g lcm(a, b) is below the limit when lcm(a, b) is below limit / g, rounded up.
    const Time limit = (spec.lcm_limit + spec.granularity - 1) / spec.granularity;
    range.last = std::min(range.last, limit - 1);
    if (range.count() < 1) {
        reason = "no period within [" + std::to_string(spec.period_low) + ", " +
                 std::to_string(spec.period_high) + "] is below the limit of the hyper-period, " +
                 std::to_string(spec.lcm_limit);
        return nullptr;
    }
    if (range.count() > kCandidatesMax) {
        reason = "lcm-limited chooses among at most 2^20 periods, not " +
                 std::to_string(range.count()) + ": raise the granularity";
        return nullptr;
    }
    return limit <= Time{0xffffffff} ? law<std::uint32_t>(range, limit)
                                     : law<std::uint64_t>(range, limit);
}

const PeriodRegistrar registrar(
    {.name = "lcm-limited",
     .title = "Uniform, each kept while the hyper-period stays below the limit",
     .reference = "Hangan and Sebestyen's experiments, RTMultiSim",
     .fixed_sum = false},
    make);

}  // namespace

}  // namespace deadbeat::sched::periods_lcm_limited
