// Threads bound to processors under SCHED_FIFO that share mutexes with priority inheritance, as
// Linux runs them: waiters queue by priority, the holder runs at the highest priority among its own
// and its waiters', on its own processor. Sporadic, D <= T, no section within another.
//
// From its release to its end a job i that does not execute is kept by one of these.
//   local   a task of its processor with p_j >= p_i;
//   boost   a less urgent task of its processor in a section with ceiling >= p_i. It cannot request
//           a lock while i, or a more urgent local holder, is ready: one section of each such task
//           for the arrival, one for each request, one for each hand-over to a local task;
//   remote  while it waits: the holder, or what keeps it from its processor k. With v the least
//           urgent user there and h = max(p_i, p_v) the holder runs at h or above: tasks of k with
//           p_j >= h, and those below h in a section with ceiling >= h, which cannot request while
//           the holder is ready: one section each at a request, one at each hand-over to k.
// Work of j in a window x is bounded with J_j, which bounds its response: all J = C first, then the
// responses found, until nothing changes. Any joint fixed point is a proof: look at the first job
// to exceed its bound; until then no other had. The remote part is bounded over the response
// (window form), or request by request; the smaller one counts.
#include "pinned.hpp"

namespace deadbeat::sched::pinned {

namespace {

using namespace analysis;

// Work of one task in a window.
struct Worker {
    std::size_t task;
    bool whole;     // no section, local, more urgent: also ceil(x / T) C
    Time sections;  // > 0: only that much of each of its jobs
};

// A less urgent task, in the way with its sections of at least this ceiling.
struct Blocker {
    std::size_t task;
    std::int64_t ceiling;
};

// Requests that a task can issue with each job.
struct Issuer {
    std::size_t task;
    std::int64_t requests;
};

// Blockers whose sections count once for each hand-over, and `first` times more.
struct Boost {
    explicit Boost(Arena* arena) : blockers(arena), issuers(arena) {}
    Vector<Blocker> blockers;
    Vector<Issuer> issuers;
    std::int64_t first = 0;
};

// What keeps a job that uses some of its locks.
struct View {
    explicit View(Arena* arena) : local(arena), remote(arena), workers(arena), held(arena) {}
    Boost local;
    Vector<Boost> remote;
    Vector<Worker> workers;
    Vector<Share> held;  // sections that are held when a request comes
    Wide from = 1;       // what a request waited at least, by the responses so far
};

class Bound {
  public:
    Bound(const Tasks& tasks, const TestOptions& options)
        : arena_(tasks.arena),
          system_(tasks.system),
          urgency_(tasks.urgency),
          home_(tasks.home),
          sections_(tasks.sections),
          steps_(options),
          counts_(tasks.size() * at(tasks.locks), arena_),
          ceiling_(tasks.ceilings()),
          response_(tasks.wcets()),
          plans_(arena_) {
        plans_.reserve(tasks.size());
        for (const Section& section : system_.sections) {
            counts_[at(section.task) * ceiling_.size() + at(section.lock)] += section.count;
        }
    }

    TestVerdict run(std::span<Time> bounds) {
        const std::size_t n = system_.tasks.size();
        for (std::size_t i = 0; i < n; i++) {
            plans_.push_back(plan(i));
        }
        for (bool changed = true; changed;) {
            changed = false;
            for (std::size_t i = 0; i < n; i++) {
                const Time found = respond(i);
                if (found == kNever) {
                    return kBudget;
                }
                changed = changed || found != response_[i];
                response_[i] = found;
                if (found > system_.tasks[i].deadline) {
                    return kTooLong;
                }
            }
        }
        if (!bounds.empty()) {
            std::ranges::copy(response_, bounds.begin());
        }
        return kAccepted;
    }

    // What the bounds are made of, as far as they were found.
    std::vector<Share> shares() {
        std::vector<Share> found;
        for (std::size_t i = 0; i < plans_.size(); i++) {
            Plan& plan = plans_[i];
            const Wide x = std::min(response_[i], system_.tasks[i].deadline);
            const auto put = [&](ShareKind kind, std::size_t other, std::int64_t lock,
                                 Wide amount) {
                if (amount > 0) {
                    found.push_back({static_cast<std::int64_t>(i), kind,
                                     static_cast<std::int64_t>(other), lock,
                                     static_cast<Time>(amount)});
                }
            };
            for (const Worker& worker : plan.local) {
                put(ShareKind::local, worker.task, -1, work(worker, x));
            }
            put_boost(plan.window.local, x, ShareKind::boost, put);
            const auto requests = by_request(plan, system_.tasks[i].deadline);
            if (requests && *requests < remote(plan.window, x)) {
                for (auto& [view, count] : plan.requests) {
                    put_remote(view, waiting(plan, view, system_.tasks[i].deadline).value(), count,
                               put);
                }
            } else {
                put_remote(plan.window, x, 1, put);
            }
        }
        return found;
    }

  private:
    struct Plan {
        explicit Plan(Arena* arena) : window(arena), local(arena), requests(arena) {}
        View window;
        Vector<Worker> local;
        Vector<std::pair<View, std::int64_t>> requests;  // of each lock, and how many
    };

    bool here(std::size_t a, std::size_t b) const { return home_[a] == home_[b]; }

    // Of `lock` with each job.
    std::int64_t requests(std::size_t task, std::int64_t lock) const {
        return counts_[task * ceiling_.size() + at(lock)];
    }

    std::int64_t requests(std::size_t task, std::span<const std::int64_t> locks) const {
        std::int64_t sum = 0;
        for (const std::int64_t lock : locks) {
            sum += requests(task, lock);
        }
        return sum;
    }

    // The longest section of `task` with at least this ceiling; 0: none.
    Time longest(std::size_t task, std::int64_t ceiling) const {
        for (const Section& section : sections_[task]) {
            if (ceiling_[at(section.lock)] >= ceiling) {
                return section.length;
            }
        }
        return 0;
    }

    Plan plan(std::size_t i) {
        Plan plan(arena_);
        for (std::size_t j = 0; j < system_.tasks.size(); j++) {
            if (j != i && here(i, j) && urgency_[j] >= urgency_[i]) {
                plan.local.push_back({j, sections_[j].empty() && urgency_[j] > urgency_[i], 0});
            }
        }
        Vector<std::int64_t> locks(arena_);
        for (const Section& section : sections_[i]) {
            if (std::ranges::find(locks, section.lock) == locks.end()) {
                locks.push_back(section.lock);
            }
        }
        plan.window = view(i, locks, false);
        plan.requests.reserve(locks.size());
        for (const std::int64_t& lock : locks) {
            plan.requests.emplace_back(view(i, {&lock, 1}, true), requests(i, lock));
        }
        return plan;
    }

    // `once`: of a single request of the one lock.
    View view(std::size_t i, std::span<const std::int64_t> locks, bool once) {
        View view(arena_);
        view.workers.reserve(system_.tasks.size());
        const std::int64_t mine = urgency_[i];
        view.local.first = (once ? 1 : requests(i, locks)) + 1;
        // Processors of other users, and the least priority at which a holder there runs.
        Vector<std::pair<std::int32_t, std::int64_t>> processors(arena_);
        for (std::size_t j = 0; j < system_.tasks.size(); j++) {
            if (j == i) {
                continue;
            }
            if (!here(i, j)) {
                if (requests(j, locks) == 0) {
                    continue;
                }
                const std::int64_t h = std::max(mine, urgency_[j]);
                const auto known = std::ranges::find(processors, home_[j],
                                                     [](const auto& each) { return each.first; });
                if (known == processors.end()) {
                    processors.emplace_back(home_[j], h);
                } else {
                    known->second = std::min(known->second, h);
                }
            } else if (urgency_[j] < mine) {
                add(view.local.blockers, j, mine);
            } else if (const std::int64_t issued = requests(j, locks); issued > 0) {
                view.local.issuers.push_back({j, issued});
            }
        }
        for (const auto& [k, h] : processors) {
            remote(view, i, locks, k, h);
        }
        for (const std::int64_t lock : locks) {
            std::int32_t worst = -1;
            std::int64_t height = 0;
            Wide most = 0;
            for (const auto& [k, h] : processors) {
                const Wide found = held(h, lock, k);
                if (found > most) {
                    worst = k, height = h, most = found;
                }
            }
            for (std::size_t j = 0; worst >= 0 && j < system_.tasks.size(); j++) {
                const Time length =
                    home_[j] == worst && urgency_[j] < height ? longest(j, height) : 0;
                if (length > 0) {
                    view.held.push_back({static_cast<std::int64_t>(i), ShareKind::held,
                                         static_cast<std::int64_t>(j), lock,
                                         length * (once ? 1 : requests(i, lock))});
                }
            }
        }
        return view;
    }

    void add(Vector<Blocker>& blockers, std::size_t task, std::int64_t ceiling) const {
        if (longest(task, ceiling) > 0) {
            blockers.push_back({task, ceiling});
        }
    }

    void remote(View& view, std::size_t i, std::span<const std::int64_t> locks, std::int32_t k,
                std::int64_t h) {
        std::size_t users = 0;
        for (std::size_t j = 0; j < system_.tasks.size(); j++) {
            users += home_[j] == k && requests(j, locks) > 0 ? 1 : 0;
        }
        Boost boost(arena_);
        for (std::size_t j = 0; j < system_.tasks.size(); j++) {
            if (home_[j] != k) {
                continue;
            }
            if (urgency_[j] >= h) {
                Time sections = 0;
                if (users == 1 &&
                    requests(j, locks) > 0) {  // p_v >= p_i: nothing else of it is in the way
                    for (const Section& section : sections_[j]) {
                        if (std::ranges::find(locks, section.lock) != locks.end()) {
                            sections += section.count * section.length;
                        }
                    }
                }
                view.workers.push_back({j, false, sections});
            } else {
                add(boost.blockers, j, h);
            }
            if (const std::int64_t issued = requests(j, locks);
                issued > 0 && urgency_[j] >= urgency_[i]) {
                boost.issuers.push_back({j, issued});
            }
        }
        view.remote.push_back(std::move(boost));
    }

    // Longest sections that tasks below the holder of `lock` on `k` may be in at a request.
    Wide held(std::int64_t h, std::int64_t lock, std::int32_t k) const {
        bool user = false;
        Wide sum = 0;
        for (std::size_t j = 0; j < system_.tasks.size(); j++) {
            if (home_[j] == k) {
                user = user || requests(j, lock) > 0;
                sum += urgency_[j] < h ? longest(j, h) : 0;
            }
        }
        return user ? sum : 0;
    }

    static Wide sum_of(std::span<const Share> shares) {
        Wide sum = 0;
        for (const Share& share : shares) {
            sum += share.amount;
        }
        return sum;
    }

    template <class Put>
    void put_boost(const Boost& boost, Wide x, ShareKind kind, Put put) const {
        for (const Blocker& blocker : boost.blockers) {
            put(kind, blocker.task, -1, work(blocker, most(boost, x), x));
        }
    }

    template <class Put>
    void put_remote(const View& view, Wide x, std::int64_t count, Put put) const {
        for (const Share& share : view.held) {
            put(ShareKind::held, at(share.other), share.lock, Wide{share.amount} * count);
        }
        for (const Worker& worker : view.workers) {
            put(ShareKind::outranks, worker.task, -1, work(worker, x) * count);
        }
        for (const Boost& boost : view.remote) {
            put_boost(boost, x, ShareKind::handed,
                      [&](auto kind, auto task, auto lock, Wide amount) {
                          put(kind, task, lock, amount * count);
                      });
        }
    }

    // Windows are at most deadlines: sums of two times and a period fit 64 bits.
    Wide jobs(std::size_t j, Wide x) const {
        const Time period = system_.tasks[j].period;
        return (static_cast<Time>(x) + response_[j] + period - 1) / period;
    }

    Wide work(const Worker& worker, Wide x) const {
        const Task& task = system_.tasks[worker.task];
        if (worker.sections > 0) {
            return jobs(worker.task, x) * worker.sections;
        }
        const auto window = static_cast<Time>(x);
        const Time y = window + response_[worker.task] - task.wcet;
        const Time n = y / task.period;
        const Wide found = Wide{n} * task.wcet + std::min(task.wcet, y - n * task.period);
        return worker.whole
                   ? std::min(found, Wide{(window + task.period - 1) / task.period} * task.wcet)
                   : found;
    }

    Wide work(std::span<const Worker> workers, Wide x) const {
        Wide sum = 0;
        for (const Worker& worker : workers) {
            sum += work(worker, x);
        }
        return sum;
    }

    // Sections of each blocker that may be in the way.
    Wide most(const Boost& boost, Wide x) const {
        Wide most = boost.first;
        for (const Issuer& issuer : boost.issuers) {
            most += jobs(issuer.task, x) * issuer.requests;
        }
        return most;
    }

    Wide work(const Blocker& blocker, Wide most, Wide x) const {
        Wide sum = 0;
        const Wide copies = jobs(blocker.task, x);
        for (const Section& section : sections_[blocker.task]) {
            if (ceiling_[at(section.lock)] >= blocker.ceiling) {
                const Wide taken = std::min(most, copies * section.count);
                sum += taken * section.length;
                most -= taken;
            }
        }
        return sum;
    }

    Wide work(const Boost& boost, Wide x) const {
        if (boost.blockers.empty()) {
            return 0;
        }
        const Wide each = most(boost, x);
        Wide sum = 0;
        for (const Blocker& blocker : boost.blockers) {
            sum += work(blocker, each, x);
        }
        return sum;
    }

    Wide remote(const View& view, Wide x) const {
        Wide sum = sum_of(view.held) + work(view.workers, x);
        for (const Boost& boost : view.remote) {
            sum += work(boost, x);
        }
        return sum;
    }

    // What a request waits at most, and what it runs meanwhile; nothing where that is too long.
    std::optional<Wide> waiting(const Plan& plan, View& view, Time deadline) {
        Wide& x = view.from;
        Wide next = 0;
        while ((next = work(plan.local, x) + work(view.local, x) + remote(view, x)) > x) {
            x = next;
            if (x > deadline || !steps_.spend(system_.tasks.size())) {
                return std::nullopt;
            }
        }
        return x;
    }

    // All requests, each bounded by itself; nothing where one alone takes too long.
    std::optional<Wide> by_request(Plan& plan, Time deadline) {
        Wide sum = 0;
        for (auto& [view, count] : plan.requests) {
            const auto x = waiting(plan, view, deadline);
            if (!x) {
                return std::nullopt;
            }
            sum += count * remote(view, *x);
        }
        return sum;
    }

    // Above its deadline: late; kNever: the budget was used up.
    Time respond(std::size_t i) {
        const Task& task = system_.tasks[i];
        Plan& plan = plans_[i];
        const auto requests = by_request(plan, task.deadline);
        Wide x = response_[i], away = 0;
        bool each = false;
        while (x <= task.deadline) {
            if (!steps_.spend(system_.tasks.size())) {
                return kNever;
            }
            if (!each) {  // grows with x
                away = remote(plan.window, x);
                each = requests && *requests <= away;
                away = each ? *requests : away;
            }
            const Wide next = task.wcet + work(plan.local, x) + work(plan.window.local, x) + away;
            if (next <= x) {
                break;
            }
            x = next;
        }
        return static_cast<Time>(std::min<Wide>(x, kTimeMax));
    }

    Arena* arena_;
    const System& system_;
    const Vector<std::int64_t>& urgency_;
    const Vector<std::int32_t>& home_;
    const Rows<Section>& sections_;
    Steps steps_;
    Vector<std::int64_t> counts_;  // of requests of a job, by task and lock
    Vector<std::int64_t> ceiling_;
    Vector<Time> response_;
    Vector<Plan> plans_;
};

TestVerdict pinned_fifo_pi(const System& system, const TestOptions& options,
                           std::span<Time> bounds) {
    return pinned::bounded<Bound>(system, options, bounds);
}

const TestRegistrar registrar(
    {.name = "pinned-fifo-pi",
     .title = "Threads bound to processors under SCHED_FIFO, mutexes with priority inheritance",
     .reference = "deadbeat, docs/howto/will-my-locks-hold.md",
     .scheduler = "p-fp+inherit",
     .model = "sporadic",
     .ties = "any",
     .deadlines = "constrained",
     .kind = TestKind::sufficient,
     .cost = 16,
     .models = kLocks,
     .protocols = "inherit"},
    pinned_fifo_pi);

}  // namespace

}  // namespace deadbeat::sched::pinned

namespace deadbeat::sched {

std::vector<Share> pinned_shares(const System& system, TestOptions options) {
    if (options.partition == "any") {
        best_placement(pinned::pinned_fifo_pi, system, options, {});
    }
    const pinned::Tasks tasks(system, options);
    if (!constrained(system) || tasks.refusal != nullptr) {
        return {};
    }
    pinned::Bound bound(tasks, options);
    bound.run({});
    return bound.shares();
}

}  // namespace deadbeat::sched
