// Protocols of locks and policies that the simulator knows.
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "deadbeat/sched/system.hpp"

namespace deadbeat::sched::locks {

enum class Rule { plain, inherit, ceiling, mpcp, fmlp, spin, help, served, omlp };

struct Protocol {
    const char* name;
    Rule rule;
    bool fifo;   // waiters queue in order of request, else of priority
    bool stays;  // a waiter keeps its processor from who is less urgent (msrp: from all)
    bool steal;  // a released lock is free: a more urgent requester may be faster than the waiter
};

// The first letter: bound to processors, in clusters (as many as the homes name), or global.
inline constexpr std::array kPolicies{"p-fp", "c-fp", "g-fp", "p-edf", "c-edf", "g-edf"};

// srp and protect: no nesting, so to run at the ceiling from the request on is both.
inline constexpr std::array kProtocols{
    Protocol{"none", Rule::plain, false, false, false},
    Protocol{"inherit", Rule::inherit, false, false, false},
    Protocol{"inherit-steal", Rule::inherit, false, false, true},
    Protocol{"protect", Rule::ceiling, false, false, false},
    Protocol{"srp", Rule::ceiling, false, false, false},
    Protocol{"mpcp", Rule::mpcp, false, false, false},
    Protocol{"virtual-spin", Rule::mpcp, false, true, false},
    Protocol{"fmlp+", Rule::fmlp, true, false, false},
    Protocol{"msrp", Rule::spin, true, true, false},
    Protocol{"mrsp", Rule::help, true, true, false},
    Protocol{"dpcp", Rule::served, false, false, false},
    Protocol{"omlp", Rule::omlp, true, false, false},
};

inline const Protocol* find(const std::string& name) {
    const auto* found = std::ranges::find(kProtocols, name, &Protocol::name);
    return found == kProtocols.end() ? nullptr : found;
}

inline constexpr std::size_t kNobody = std::numeric_limits<std::size_t>::max();
inline constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();

inline std::size_t home(const Task& task) { return task.home < 0 ? 0 : at(task.home); }

inline bool is_edf(const std::string& policy) { return policy.ends_with("edf"); }

inline std::int64_t clusters_of(const System& system, const std::string& policy) {
    if (policy[0] == 'c') {
        return static_cast<std::int64_t>(home(std::ranges::max(system.tasks, {}, home))) + 1;
    }
    return policy[0] == 'g' ? 1 : system.processors;
}

}  // namespace deadbeat::sched::locks
