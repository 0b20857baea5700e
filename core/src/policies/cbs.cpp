#include "cbs.hpp"

namespace deadbeat::sched {

std::string Server::defect() const {
    if (budget_ <= deadline_ && deadline_ <= period_) {
        return "";
    }
    return "SCHED_DEADLINE takes runtime <= deadline <= period, its server has " +
           std::to_string(budget_) + ", " + std::to_string(deadline_) + ", " +
           std::to_string(period_);
}

Task Server::reservation(const Task& task) const {
    Task reserved = task;
    reserved.wcet = budget_;
    reserved.period = period_;
    reserved.deadline = deadline_;
    return reserved;
}

int Server::overflow(Time now) const {
    const Wide left = static_cast<Wide>(runtime_) * deadline_;
    const Wide right = static_cast<Wide>(absolute_ - now) * budget_;
    return left < right ? -1 : (left > right ? 1 : 0);
}

void Server::wake(Time now) {
    if (!begun_) {
        begun_ = true;
        renew(now);
        return;
    }
    settle(now);
    if (throttled_) {
        return;
    }
    if (constrained() && absolute_ < now && now < next_period()) {
        throttled_ = true;
        runtime_ = 0;
        return;
    }
    if (absolute_ < now) {
        renew(now);
    } else if (overflow(now) > 0) {
        if (constrained()) {
            runtime_ =
                static_cast<Time>(static_cast<Wide>(budget_) * (absolute_ - now) / deadline_);
        } else {
            renew(now);
        }
    }
}

void Server::settle(Time now) {
    if (!begun_ || (!throttled_ && runtime_ > 0)) {
        return;
    }
    const Time due = next_period();
    if (due > now) {
        throttled_ = true;
        return;
    }
    const bool at_its_time = throttled_;  // else it was exhausted only now, after `due`
    throttled_ = false;
    runtime_ = budget_;
    absolute_ = due + deadline_;
    if (!at_its_time && absolute_ < now) {
        renew(now);
    }
}

void Server::save(Time now, bool active, std::vector<std::int64_t>& words) const {
    Server settled = *this;
    settled.settle(now);
    std::int64_t kind = 1;  // of the state that counts: 0 none, 1 q and d, 2 throttled, 3 only d
    std::int64_t runtime = settled.runtime_;
    if (!settled.begun_) {
        kind = 0;
    } else if (settled.throttled_) {
        kind = 2;
    } else if (!active) {
        const bool past = settled.next_period() <= now;
        const int over = past ? 0 : settled.overflow(now);
        const bool as_new = settled.runtime_ == budget_ && over == 0;
        if (past || (!constrained() && (over > 0 || as_new))) {
            kind = 0;  // every later wake-up begins anew, or does what comes to the same
        } else if (constrained() && over > 0 && settled.absolute_ >= now) {
            kind = 3;
            runtime = 0;
        }
    }
    words.push_back(kind);
    words.push_back(kind == 0 ? 0 : runtime);
    words.push_back(kind == 0 ? 0 : settled.absolute_ - now);
}

}  // namespace deadbeat::sched
