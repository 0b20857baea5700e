// Rate-monotonic priorities on one processor by utilisations alone: sum u_i <= n (2^(1/n) - 1), and
// the hyperbolic bound prod (u_i + 1) <= 2, which accepts all that the first does (of all u with
// one sum the product is largest where they are equal). For n = 2 the first is 0.828...
//
// No double decides. The product is compared as whole numbers: prod (C_i + T_i) <= 2 prod T_i. The
// sum is enclosed: (1 + U/n)^n <= 2 in fixed point, once rounded down and once up, with twice the
// digits until both say the same. They do at some time: for n > 1 the root of 2 is irrational.
#include "shared.hpp"

namespace deadbeat::sched::rate_monotonic {

namespace {

using namespace analysis;

// A natural number, digits of base 2^32, least significant first.
class Natural {
  public:
    explicit Natural(std::uint64_t value) { add(value); }
    static Natural power_of_base(std::size_t digits) {
        Natural made(1);
        made.digits_.insert(made.digits_.begin(), digits, 0);
        return made;
    }
    std::size_t size() const { return digits_.size(); }

    void add(std::uint64_t value) {
        for (std::size_t i = 0; value > 0; i++) {
            grow(i + 1);
            const std::uint64_t low = digits_[i] + (value & 0xffff'ffff);
            digits_[i] = static_cast<std::uint32_t>(low);
            value = (value >> 32) + (low >> 32);
        }
    }
    void add(const Natural& other) {
        std::uint64_t carry = 0;
        for (std::size_t i = 0; i < other.size() || carry > 0; i++) {
            grow(i + 1);
            carry += digits_[i] + (i < other.size() ? std::uint64_t{other.digits_[i]} : 0);
            digits_[i] = static_cast<std::uint32_t>(carry);
            carry >>= 32;
        }
    }
    void multiply(std::uint64_t by) {
        Wide carry = 0;
        for (std::size_t i = 0; i < size() || carry > 0; i++) {
            grow(i + 1);
            carry += static_cast<Wide>(digits_[i]) * static_cast<Wide>(by);
            digits_[i] = static_cast<std::uint32_t>(carry);
            carry >>= 32;
        }
    }
    void divide(std::uint64_t by) {
        Wide rest = 0;
        for (std::size_t i = size(); i-- > 0;) {
            rest = (rest << 32) + digits_[i];
            digits_[i] = static_cast<std::uint32_t>(rest / static_cast<Wide>(by));
            rest %= static_cast<Wide>(by);
        }
        trim();
    }
    // Their product without its `dropped` lowest digits, rounded down.
    static Natural product(const Natural& a, const Natural& b, std::size_t dropped) {
        Natural made(0);
        made.digits_.assign(a.size() + b.size(), 0);
        for (std::size_t i = 0; i < a.size(); i++) {
            std::uint64_t carry = 0;
            for (std::size_t j = 0; j < b.size(); j++) {
                carry += made.digits_[i + j] + std::uint64_t{a.digits_[i]} * b.digits_[j];
                made.digits_[i + j] = static_cast<std::uint32_t>(carry);
                carry >>= 32;
            }
            made.digits_[i + b.size()] = static_cast<std::uint32_t>(carry);
        }
        const auto lowest = std::min(dropped, made.size());
        made.digits_.erase(made.digits_.begin(),
                           made.digits_.begin() + static_cast<std::ptrdiff_t>(lowest));
        made.trim();
        return made;
    }
    friend bool operator<=(const Natural& a, const Natural& b) {
        return a.size() != b.size()
                   ? a.size() < b.size()
                   : !std::lexicographical_compare(b.digits_.rbegin(), b.digits_.rend(),
                                                   a.digits_.rbegin(), a.digits_.rend());
    }

  private:
    void grow(std::size_t least) {
        if (size() < least) {
            digits_.resize(least);
        }
    }
    void trim() {
        while (!digits_.empty() && digits_.back() == 0) {
            digits_.pop_back();
        }
    }
    std::vector<std::uint32_t> digits_;
};

// value^n in fixed point of `digits` digits; each product is rounded down, or (`up`) up.
Natural power(Natural value, std::size_t n, std::size_t digits, bool up) {
    Natural made = Natural::power_of_base(digits);
    for (; n > 0; n >>= 1) {
        if ((n & 1) != 0) {
            made = Natural::product(made, value, digits);
            made.add(up ? 1 : 0);
        }
        value = Natural::product(value, value, digits);
        value.add(up ? 1 : 0);
    }
    return made;
}

// Whether a shorter period is always more urgent, whatever the tie rule.
bool by_rate(const System& system, TestOptions options) {
    for (const char* ties : {"index", "reverse"}) {
        options.ties = ties;
        const auto order = priority_order(system, options);
        if (order.empty() || !std::ranges::is_sorted(order, {}, [&](std::int32_t i) {
                return system.tasks[static_cast<std::size_t>(i)].period;
            })) {
            return false;
        }
    }
    return true;
}

// What both ask first; `accepted`: nothing speaks against the bound.
TestVerdict first(const System& system, const TestOptions& options) {
    if (system.processors != 1) {
        return kNotUni;
    }
    if (std::ranges::any_of(system.tasks, [](const Task& t) { return t.deadline != t.period; })) {
        return kNotImplicit;
    }
    if (options.blocking > 0) {
        return not_applicable("tasks may be blocked");
    }
    if (!by_rate(system, options)) {
        return not_applicable("priorities are not rate-monotonic");
    }
    return compare_utilisation(system, 1) > 0 ? kOverloaded : kAccepted;
}

TestVerdict liu_layland(const System& system, const TestOptions& options, std::span<Time>) {
    const TestVerdict found = first(system, options);
    const std::size_t n = system.tasks.size();
    if (found.answer != TestAnswer::accepted || n == 1) {
        return found;
    }
    Steps steps(options);
    for (std::size_t digits = 3;; digits *= 2) {
        const auto rounds = static_cast<std::size_t>(std::bit_width(n));
        if (!steps.spend(n * digits + 4 * rounds * digits * digits)) {
            return kBudget;
        }
        Natural low(0);  // U, less than n too small
        for (const Task& task : system.tasks) {
            Natural share = Natural::power_of_base(digits);
            share.multiply(static_cast<std::uint64_t>(task.wcet));
            share.divide(static_cast<std::uint64_t>(task.period));
            low.add(share);
        }
        Natural high = low;
        high.add(n);
        low.divide(n);
        high.divide(n);
        high.add(1);
        for (Natural* each : {&low, &high}) {
            each->add(Natural::power_of_base(digits));
        }
        Natural two = Natural::power_of_base(digits);
        two.multiply(2);
        if (power(high, n, digits, true) <= two) {
            return kAccepted;
        }
        if (!(power(low, n, digits, false) <= two)) {
            return not_accepted("utilisation above n (2^(1/n) - 1)");
        }
    }
}

TestVerdict hyperbolic(const System& system, const TestOptions& options, std::span<Time>) {
    const TestVerdict found = first(system, options);
    if (found.answer != TestAnswer::accepted) {
        return found;
    }
    Steps steps(options);
    Natural product(1);
    Natural bound(2);
    for (const Task& task : system.tasks) {
        if (!steps.spend(2 * bound.size())) {
            return kBudget;
        }
        product.multiply(static_cast<std::uint64_t>(task.wcet + task.period));
        bound.multiply(static_cast<std::uint64_t>(task.period));
    }
    return product <= bound ? kAccepted : not_accepted("the product of all u + 1 is above 2");
}

const TestRegistrar ll_registrar({.name = "ll-rm",
                                  .title = "Liu and Layland's bound of rate-monotonic priorities",
                                  .reference = "Liu and Layland, Journal of the ACM 20(1), 1973",
                                  .scheduler = "g-fp",
                                  .model = "sporadic",
                                  .ties = "any",
                                  .deadlines = "implicit",
                                  .kind = TestKind::sufficient,
                                  .cost = 0},
                                 liu_layland);
const TestRegistrar hyperbolic_registrar(
    {.name = "hyperbolic",
     .title = "Hyperbolic bound of rate-monotonic priorities",
     .reference = "Bini, Buttazzo and Buttazzo, IEEE Transactions on Computers 52(7), 2003",
     .scheduler = "g-fp",
     .model = "sporadic",
     .ties = "any",
     .deadlines = "implicit",
     .kind = TestKind::sufficient,
     .cost = 0},
    hyperbolic);

}  // namespace

}  // namespace deadbeat::sched::rate_monotonic
