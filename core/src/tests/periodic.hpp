// Jobs of periodic tasks, from 0 until all of it repeats, and layers of states of what they do.
#pragma once

#include <cstring>

#include "deadbeat/sched/ties.hpp"
#include "shared.hpp"

namespace deadbeat::sched::periodic {

using namespace analysis;

// A graph's node, or a whole job.
struct Node {
    std::size_t task = 0;
    Time least = 0, most = 0;              // what it takes
    std::uint64_t needs = 0;               // nodes of its job that end before it starts
    std::uint64_t leads = 0;               // that start after it
    Time place = 0;                        // between jobs as urgent: less is first
    std::vector<std::size_t> before = {};  // the same as `needs`, places among all nodes
};

inline constexpr std::size_t kNodes = 64;  // of a job: bits

struct Jobs {
    std::vector<Node> nodes;         // by task, then number
    std::vector<std::size_t> first;  // node of each task, and behind the last
    std::vector<Time> jitter;
    std::span<const Task> tasks;
    bool edf = false;
    bool graphs = false;
    // Some nodes cannot be as short as they may be all in one job, whose least time is more.
    bool relaxed = false;
    Time end = 0;  // jobs that arrive earlier are those that matter

    std::size_t size(std::size_t task) const { return first[task + 1] - first[task]; }
    std::uint64_t all(std::size_t task) const { return ~std::uint64_t{0} >> (kNodes - size(task)); }
    Time arrival(std::size_t task, Time job) const {
        return tasks[task].offset + tasks[task].period * job;
    }
    // Less is more urgent.
    std::pair<Time, Time> urgency(const Node& node, Time arrived) const {
        return {edf ? arrived + tasks[node.task].deadline : 0, node.place};
    }
};

// Fills `jobs`, or says why it cannot.
//
// The end: let no job miss, and c be an instant after all first arrivals between no job's arrival
// and its deadline. Then nothing is pending at c, and at c + H, where arrivals are those from c on,
// as far away: what happens from then on could have happened from c on. So jobs that arrive before
// c + H are all. Where D <= T and all tasks arrive at 0, c is 0.
TestVerdict make(const System& system, const TestOptions& options, bool edf, Jobs& jobs);

// States of equal length in words, found by a hash of theirs.
class Layer {
  public:
    static constexpr std::uint32_t kNone = ~std::uint32_t{0};

    explicit Layer(std::size_t width = 0) : width_(width) {}
    std::size_t size() const { return next_.size(); }
    Time* state(std::size_t index) { return words_.data() + index * width_; }
    void clear() {
        words_.clear();
        next_.clear();
        hashes_.clear();
        std::ranges::fill(heads_, kNone);
    }

    // Adds `state`, unless `absorbed(kept, n)` by one of those whose first `length` words are as
    // its own; n: how many of these there are so far.
    template <class Absorbed>
    void add(const Time* state, std::size_t length, Absorbed absorbed) {
        std::uint64_t hash = 0x9e3779b97f4a7c15U;
        for (std::size_t i = 0; i < length; i++) {
            hash = (hash ^ static_cast<std::uint64_t>(state[i])) * 0xff51afd7ed558ccdU;
            hash ^= hash >> 32;
        }
        if (size() >= heads_.size()) {
            grow();
        }
        std::size_t same = 0;
        std::uint32_t& head = heads_[hash & (heads_.size() - 1)];
        for (std::uint32_t i = head; i != kNone; i = next_[i]) {
            if (hashes_[i] == hash &&
                std::memcmp(this->state(i), state, length * sizeof(Time)) == 0 &&
                absorbed(this->state(i), same++)) {
                return;
            }
        }
        next_.push_back(head);
        head = static_cast<std::uint32_t>(hashes_.size());
        hashes_.push_back(hash);
        words_.insert(words_.end(), state, state + width_);
    }

  private:
    void grow() {
        heads_.assign(std::max<std::size_t>(16, 4 * heads_.size()), kNone);
        for (std::uint32_t i = 0; i < hashes_.size(); i++) {
            std::uint32_t& head = heads_[hashes_[i] & (heads_.size() - 1)];
            next_[i] = head;
            head = i;
        }
    }

    std::size_t width_;
    std::vector<Time> words_;
    std::vector<std::uint32_t> next_, heads_;
    std::vector<std::uint64_t> hashes_;
};

inline TestInfo info(const char* name, const char* title, const char* scheduler,
                     const char* reference) {
    return {.name = name,
            .title = title,
            .reference = reference,
            .scheduler = scheduler,
            .model = "periodic-offset",
            .ties = "given",
            .deadlines = "constrained",
            .kind = TestKind::exact,
            .cost = 60,
            .whole_instants = true,
            .models = kJitter | kShorter | kDag};
}

// What exploring some or all schedules shows.
enum class Seen { fits, late, budget };

}  // namespace deadbeat::sched::periodic
