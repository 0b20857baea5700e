// The O(m) locking protocol, global or in clusters, suspension-oblivious: what a job waits for
// counts as its execution, and a test of tasks without locks decides. Fixed priorities, sporadic,
// D <= T, no section within another. Every task is assumed to respond by its deadline: the first
// that did not would refute the test before. Who inherits a priority or is lent one has the place
// of its owner among equal ones, too.
//
// Global: a queue in order of request of m jobs, before it one by priority. A request waits for at
// most 2 m - 1 others, two of a task; where at most m + 1 tasks use the lock, for one of each.
//
// In clusters of c processors (as many as the homes name, one without homes): for c of each other
// cluster and c - 1 of its own, one of a task. Once, i lends its priority to a request of a task of
// its cluster that is no more urgent, from when it is issued until it is done.
#include "queues.hpp"

namespace deadbeat::sched::omlp {

namespace {

using namespace analysis;

// Tasks that wait `waits` longer.
std::optional<std::vector<Task>> inflated(const System& system, const std::vector<Wide>& waits) {
    std::vector<Task> tasks(system.tasks.begin(), system.tasks.end());
    for (std::size_t i = 0; i < tasks.size(); i++) {
        const Wide wcet = tasks[i].wcet + waits[i];
        if (wcet > tasks[i].deadline) {
            return std::nullopt;
        }
        tasks[i].wcet = static_cast<Time>(wcet);
    }
    return tasks;
}

std::vector<Time> deadlines(const System& system) {
    std::vector<Time> found;
    for (const Task& task : system.tasks) {
        found.push_back(task.deadline);
    }
    return found;
}

// Whether the budget allows to look at all requests for each task and section.
bool affordable(const System& system, const TestOptions& options) {
    const std::size_t sections = system.sections.size();
    return Steps(options).spend((system.tasks.size() + sections) * sections);
}

TestVerdict global(const System& system, const TestOptions& options, std::span<Time> bounds) {
    if (!constrained(system)) {
        return kNotConstrained;
    }
    if (!affordable(system, options)) {
        return kBudget;
    }
    const Queues queues(system);
    const std::vector<Time> response = deadlines(system);
    const std::vector<std::int32_t> together(system.tasks.size());
    const Wide m = system.processors;
    std::vector<Wide> waits(system.tasks.size());
    for (std::size_t lock = 0; lock < queues.locks(); lock++) {
        Wide users = 0;
        for (std::size_t i = 0; i < waits.size(); i++) {
            users += queues.requests(i, lock) > 0 ? 1 : 0;
        }
        const bool few = users <= m + 1;
        for (std::size_t i = 0; i < waits.size(); i++) {
            const Wide requests = queues.requests(i, lock);
            waits[i] +=
                queues.wait(i, lock, response, together, {requests * (few ? users - 1 : 2 * m - 1)},
                            requests * (few ? 1 : 2));
        }
    }
    const auto tasks = inflated(system, waits);
    return tasks ? find_test("rta-fp")->test({system.processors, *tasks}, options, bounds)
                 : kTooLong;
}

class Clusters {
  public:
    Clusters(const System& system, std::int32_t count)
        : system_(system),
          queues_(system),
          response_(deadlines(system)),
          size_(system.processors / count),
          members_(at(count)) {
        for (std::size_t i = 0; i < system.tasks.size(); i++) {
            home_.push_back(static_cast<std::int32_t>(std::max<Time>(system.tasks[i].home, 0)));
            members_[at(home_.back())].push_back(static_cast<std::int32_t>(i));
        }
    }

    TestVerdict run(const TestOptions& options, const std::vector<std::int32_t>& order,
                    std::span<Time> bounds) const {
        std::vector<Wide> waits, spans;
        for (std::size_t i = 0; i < home_.size(); i++) {
            waits.push_back(0);
            for (std::size_t lock = 0; lock < queues_.locks(); lock++) {
                waits[i] += wait(i, lock, queues_.requests(i, lock));
            }
            spans.push_back(0);
            for (const Section& section : system_.sections) {
                if (at(section.task) == i) {
                    spans[i] = std::max(spans[i], wait(i, at(section.lock), 1) + section.length);
                }
            }
        }
        std::vector<Wide> lent(members_.size());
        for (auto place = order.rbegin(); place != order.rend(); ++place) {
            const auto i = at(*place);
            waits[i] += lent[at(home_[i])];
            lent[at(home_[i])] = std::max(lent[at(home_[i])], spans[i]);
        }
        const auto tasks = inflated(system_, waits);
        if (!tasks) {
            return kTooLong;
        }
        for (const auto& members : members_) {
            const Subsystem cluster({system_.processors, *tasks}, members, size_);
            const TestVerdict verdict =
                cluster.run(find_test(size_ == 1 ? "uni-rta" : "rta-fp")->test, options, bounds);
            if (verdict.answer != TestAnswer::accepted) {
                // No proof of a miss: waiting need not be as long.
                return verdict.answer == TestAnswer::refuted ? kTooLong : verdict;
            }
        }
        return {TestAnswer::accepted, "clusters are as many as the homes name"};
    }

  private:
    Wide wait(std::size_t i, std::size_t lock, Wide requests) const {
        std::vector<Wide> left(members_.size(), requests * size_);
        left[at(home_[i])] = requests * (size_ - 1);
        return queues_.wait(i, lock, response_, home_, left, requests);
    }

    const System& system_;
    Queues queues_;
    std::vector<Time> response_;
    std::int32_t size_;
    std::vector<std::vector<std::int32_t>> members_;
    std::vector<std::int32_t> home_;
};

TestVerdict clustered(const System& system, const TestOptions& options, std::span<Time> bounds) {
    if (!constrained(system)) {
        return kNotConstrained;
    }
    if (!affordable(system, options)) {
        return kBudget;
    }
    const std::int64_t last =
        std::max<std::int64_t>(std::ranges::max(system.tasks, std::less(), &Task::home).home, 0);
    if (std::ranges::min(system.tasks, std::less(), &Task::home).home < 0 && last > 0) {
        return not_applicable("a task has no home");
    }
    if (last >= system.processors || system.processors % (last + 1) != 0) {
        return not_applicable("the homes are not clusters of one size");
    }
    const auto order = priority_order(system, options);
    return order.empty()
               ? kUnknownOrder
               : Clusters(system, static_cast<std::int32_t>(last + 1)).run(options, order, bounds);
}

const TestInfo info{.name = "omlp-global",
                    .title = "Global O(m) locking protocol, suspension-oblivious, and rta-fp",
                    .reference = "Brandenburg and Anderson, RTSS 2010",
                    .scheduler = "g-fp+omlp",
                    .model = "sporadic",
                    .ties = "given",
                    .deadlines = "constrained",
                    .kind = TestKind::sufficient,
                    .cost = 17,
                    .whole_instants = true,
                    .models = kLocks,
                    .protocols = "omlp"};

TestInfo clustered_info() {
    TestInfo other = info;
    other.name = "omlp-clustered";
    other.title = "Clustered O(m) locking protocol, suspension-oblivious, and rta-fp in clusters";
    other.reference = "Brandenburg and Anderson, EMSOFT 2011";
    other.scheduler = "c-fp+omlp";
    return other;
}

const TestRegistrar global_registrar(info, global);
const TestRegistrar clustered_registrar(clustered_info(), clustered);

}  // namespace

}  // namespace deadbeat::sched::omlp
