// The bounds of MSRP, FMLP+ and DPCP by linear programs, solved without a solver: Wieder and
// Brandenburg, RTSS 2013; Brandenburg, RTAS 2013. Tasks bound to processors, fixed priorities.
// Sporadic, D <= T, no section within another.
//
// Such a program asks how the requests of others that fall into a response can be shared out among
// kinds of delay (direct, indirect, preemption; spinning, arrival) so that they are longest. It
// falls apart, by task or by lock and processor, into programs of one form: so many requests of
// each section, of which some places can be taken by that section or lock alone and some by any,
// and at most so many together. What fits is a transversal matroid, truncated: taking the longest
// first is the optimum, and whole (tests/oracles/linear.py solves the programs as published).
#include "pinned.hpp"

namespace deadbeat::sched::linear {

namespace {

using namespace analysis;

// Places that are left: for any section, and at all.
struct Room {
    Wide any, all;

    // Takes of `count` requests as many as fit, with places of their own.
    Wide take(Wide count, Wide& own) {
        const Wide taken = std::min({count, own + any, all});
        any -= std::max<Wide>(0, taken - own);
        own -= std::min(own, taken);
        all -= taken;
        return taken;
    }
};

constexpr Wide kEndless = std::numeric_limits<std::int64_t>::max();

class Bound {
  public:
    Bound(const pinned::Tasks& tasks, const TestOptions& options)
        : tasks_(tasks),
          steps_(options),
          response_(tasks.wcets()),
          jobs_(tasks, response_),
          users_(tasks.users()) {}

    template <class DelayOf>
    TestVerdict least(std::span<Time> bounds, DelayOf delay) {
        return pinned::least(
            tasks_, response_, bounds, steps_, delay,
            [](std::size_t, pinned::Due& due) { std::ranges::fill(due, pinned::kDelay); });
    }

  protected:
    std::int32_t home(const Section& section) const { return tasks_.home[at(section.task)]; }
    bool here(const Section& section, std::size_t i) const {
        return home(section) == tasks_.home[i];
    }

    // Requests by `section` that fall into the response of i.
    Wide count(std::size_t i, const Section& section) {
        steps_.spend(1);
        return Wide{jobs_.of(i, at(section.task))} * section.count;
    }

    // The `most` longest sections of j, of those that are `wanted`, in the response of i.
    template <class Wanted>
    Wide longest(std::size_t i, std::size_t j, Wide most, Wanted wanted) {
        Wide sum = 0;
        for (const Section& section : tasks_.sections[j]) {
            if (wanted(section)) {
                const Wide taken = std::min(most, count(i, section));
                sum += taken * section.length;
                most -= taken;
            }
        }
        return sum;
    }

    const pinned::Tasks& tasks_;
    Steps steps_;
    pinned::Vector<Time> response_;
    pinned::Jobs jobs_;
    pinned::Rows<Section> users_;
};

// What the job and all more urgent ones of its processor spin counts together: a request of another
// processor is waited for once, however many there are that could. By lock and processor as many
// requests as those have; of a section as many as are pending while each of them is. When the job
// arrives a request of a less urgent one is ahead, which spins for one more of each processor.
//
// MrsP: they spin with the ceiling of their processor, so that what is ahead is on a lock of jobs
// as urgent, and execute the section that they wait for if nobody does, so that each instant of
// spinning is one of that section. To be moved costs nothing.
template <bool mrsp>
class Spinning : public Bound {
  public:
    using Bound::Bound;

    TestVerdict run(std::span<Time> bounds) {
        return least(bounds, [&](std::size_t i) { return pinned::Delay{spinning(i), 0, 0}; });
    }

  private:
    struct Spinner {
        std::size_t task;
        Wide jobs, requests;  // of each
    };

    Wide spinning(std::size_t i) {
        Wide sum = 0, arrival = 0;
        for (const std::span<const Section> users : users_) {
            Wide ahead = 0, more = 0;
            const Wide all = on_lock(i, users, ahead, more);
            sum += all;
            arrival = std::max(arrival, ahead > 0 ? ahead + more : 0);
        }
        return sum + arrival;
    }

    // Without what is ahead on arrival: that section (0: none), and what it spins beside.
    Wide on_lock(std::size_t i, std::span<const Section> users, Wide& ahead, Wide& more) {
        spinners_.clear();
        bool remote = false, reaches = false;
        Wide requests = 0;
        for (const Section& user : users) {
            const std::size_t h = at(user.task);
            if (!here(user, i)) {
                remote = true;
            } else if (!tasks_.above(h, i)) {
                ahead = std::max<Wide>(ahead, user.length);
            } else {
                const Time period = tasks_.system.tasks[h].period;
                const Wide jobs = h == i ? 1 : (response_[i] + period - 1) / period;
                reaches = true;
                requests += jobs * user.count;
                const auto same = std::ranges::find(spinners_, h, &Spinner::task);
                if (same != spinners_.end()) {
                    same->requests += user.count;
                } else {
                    spinners_.push_back({h, jobs, user.count});
                }
            }
        }
        ahead = reaches || (remote && !mrsp) ? ahead : 0;
        Wide sum = 0;
        for (std::size_t first = 0, last = 0; first < users.size(); first = last) {
            while (last < users.size() && home(users[last]) == home(users[first])) {
                last++;
            }
            if (!here(users[first], i)) {
                const std::span<const Section> there(&users[first], last - first);
                const Wide each = apart(there), alone = together(i, there, {0, requests});
                const Wide one = together(i, there, {1, requests + 1});
                const Wide spins = std::min(each, alone);
                sum += spins;
                more += std::min(each + there.front().length, one) - spins;
            }
        }
        return sum;
    }

    // The longest of a processor for all jobs together.
    Wide together(std::size_t i, std::span<const Section> there, Room room) {
        Wide sum = 0;
        for (const Section& section : there) {
            Wide own = 0;
            for (const auto& [h, jobs, requests] : spinners_) {
                own += jobs * std::min(requests, count(h, section));
            }
            sum += room.take(count(i, section), own) * section.length;
        }
        return sum;
    }

    // Those for each job alone.
    Wide apart(std::span<const Section> there) {
        Wide sum = 0;
        for (const auto& [h, jobs, requests] : spinners_) {
            Wide left = requests;
            for (const Section& section : there) {
                const Wide taken = std::min(left, count(h, section));
                sum += jobs * taken * section.length;
                left -= taken;
            }
        }
        return sum;
    }

    std::vector<Spinner> spinners_;  // on one lock
};

// Another task keeps each of i's requests directly once, and with any section once for each request
// of i that another task of its processor keeps directly: at most as often together as requests of
// i are kept by tasks of that processor. When i arrives and each time that it was made to wait one
// section of each less urgent task of its processor is ahead.
class FmlpPlus : public Bound {
  public:
    using Bound::Bound;

    TestVerdict run(std::span<Time> bounds) {
        return least(bounds, [&](std::size_t i) { return delay(i); });
    }

  private:
    pinned::Delay delay(std::size_t i) {
        // How often those of tasks elsewhere, on processor k and without j if there is one, keep i.
        const auto kept = [&](std::int32_t k, std::size_t without) {
            Wide sum = 0;
            for (const auto& [lock, wanted] : requests_[i]) {
                Wide theirs = 0;
                for (const Section& user : users_[at(lock)]) {
                    if (!here(user, i) && at(user.task) != without && (k < 0 || home(user) == k)) {
                        theirs += count(i, user);
                    }
                }
                sum += std::min(wanted, theirs);
            }
            return sum;
        };
        const Wide waits = kept(-1, i);
        Wide remote = 0, local = 0;
        for (std::size_t j = 0; j < tasks_.size(); j++) {
            if (tasks_.sections[j].empty() || j == i) {
                continue;
            }
            if (!tasks_.here(j, i)) {
                Room room{0, waits > 0 ? kept(tasks_.home[j], i) : Wide{0}};
                if (room.all > 0) {
                    room.any = kept(tasks_.home[j], j);
                    std::ranges::fill(own_, 0);
                    for (const auto& [lock, wanted] : requests_[i]) {
                        own_[at(lock)] = wanted;
                    }
                    for (const Section& section : tasks_.sections[j]) {
                        remote +=
                            room.take(count(i, section), own_[at(section.lock)]) * section.length;
                    }
                }
            } else if (!tasks_.above(j, i)) {
                local += longest(i, j, waits + 1, [](const Section&) { return true; });
            }
        }
        return {remote + local, remote, 0};
    }

    pinned::Rows<pinned::Requests> requests_ = tasks_.requests();
    std::vector<Wide> own_ = std::vector<Wide>(users_.size());
};

// Elsewhere: sections of more urgent tasks as often as they can be asked for while requests of i
// wait, each at most so long as the longest less urgent section on a lock with a ceiling as urgent,
// its own and those; of such less urgent ones one for each request of i. On i's own processor those
// of tasks elsewhere, and one of each less urgent task of its own when i arrives and each time that
// it was served elsewhere; those of more urgent ones are of their execution times.
class Dpcp : public Bound {
  public:
    using Bound::Bound;

    TestVerdict run(std::span<Time> bounds) {
        const TestVerdict found = least(bounds, [&](std::size_t i) { return delay(i); });
        return found.answer == TestAnswer::accepted
                   ? TestVerdict{found.answer,
                                 "a lock without a processor is served on its place "
                                 "in the file modulo m"}
                   : found;
    }

  private:
    std::int32_t server(const Section& section) const {
        return section.served_on(tasks_.system.processors);
    }

    pinned::Delay delay(std::size_t i) {
        const std::int32_t own = tasks_.home[i];
        std::vector<Wide> mine(at(tasks_.system.processors));
        Wide away = 0, remote = 0, local = 0;
        for (const Section& section : tasks_.sections[i]) {
            mine[at(server(section))] += section.count;
            away += server(section) != own ? section.count : 0;
        }
        for (std::int32_t k = 0; k < tasks_.system.processors; k++) {
            remote += k != own && mine[at(k)] > 0 ? waiting(i, k, mine[at(k)]) : 0;
        }
        for (std::size_t j = 0; j < tasks_.size(); j++) {
            const Wide most = !tasks_.here(j, i) ? kEndless : tasks_.above(j, i) ? 0 : away + 1;
            local += longest(i, j, most, [&](const Section& one) { return server(one) == own; });
        }
        return {remote + local, remote, 0};
    }

    // On processor k, which serves so many requests of i.
    Wide waiting(std::size_t i, std::int32_t k, Wide requests) {
        Wide sum = 0;
        std::vector<Section> above, below;
        for (const Section& section : tasks_.system.sections) {
            const std::size_t j = at(section.task);
            if (j != i && server(section) == k) {
                if (tasks_.above(j, i)) {
                    above.push_back(section);
                } else if (ceilings_[at(section.lock)] >= tasks_.urgency[i]) {
                    below.push_back(section);
                }
            }
        }
        std::ranges::sort(below, std::greater(), &Section::length);
        for (const Section& section : below) {
            const Wide taken = std::min(requests, count(i, section));
            sum += taken * section.length;
            requests -= taken;
        }
        std::vector<Wide> most(above.size());
        for (const Section& section : tasks_.sections[i]) {
            if (server(section) == k) {
                const Wide least = section.length + (below.empty() ? 0 : below.front().length);
                const Wide wait = served(i, above, least);
                for (std::size_t a = 0; a < above.size(); a++) {
                    most[a] +=
                        wait > response_[i] ? kEndless : section.count * within(wait, above[a]);
                }
            }
        }
        for (std::size_t a = 0; a < above.size(); a++) {
            sum += std::min(most[a], count(i, above[a])) * above[a].length;
        }
        return sum;
    }

    // Until a request is done that needs `wait` without the sections `above`; more than the
    // response of i: not known.
    Wide served(std::size_t i, const std::vector<Section>& above, const Wide least) {
        for (Wide wait = least; wait <= response_[i] && steps_.spend(above.size());) {
            Wide next = least;
            for (const Section& section : above) {
                next += within(wait, section) * section.length;
            }
            if (next == wait) {
                return wait;
            }
            wait = next;
        }
        return kEndless;
    }

    Wide within(Wide window, const Section& section) const {
        const Time period = tasks_.system.tasks[at(section.task)].period;
        return (window + response_[at(section.task)] + period - 1) / period * section.count;
    }

    pinned::Vector<std::int64_t> ceilings_ = tasks_.ceilings();
};

template <class Of>
TestVerdict run(const System& system, const TestOptions& options, std::span<Time> bounds) {
    return pinned::bounded<Of>(system, options, bounds);
}

TestInfo info(const char* protocol, const char* name, const char* title, int cost,
              const char* reference) {
    return {.name = name,
            .title = title,
            .reference = reference,
            .scheduler = std::string("p-fp+") + protocol,
            .model = "sporadic",
            .ties = "any",
            .deadlines = "constrained",
            .kind = TestKind::sufficient,
            .cost = cost,
            .models = kLocks,
            .protocols = protocol};
}

constexpr const char* kSpin = "Wieder and Brandenburg, RTSS 2013";
constexpr const char* kSuspend = "Brandenburg, RTAS 2013";

const TestRegistrar msrp(info("msrp", "msrp-lp",
                              "Multiprocessor stack resource policy, by a linear program", 19,
                              kSpin),
                         run<Spinning<false>>);
const TestRegistrar mrsp(
    info("mrsp", "mrsp", "Multiprocessor resource sharing protocol (MrsP)", 19,
         "Burns and Wellings, ECRTS 2013, each request once as in Zhao et al., "
         "RTCSA 2017"),
    run<Spinning<true>>);
const TestRegistrar fmlp_plus(info("fmlp+", "fmlp-plus-lp", "FMLP+, by linear programs", 19,
                                   kSuspend),
                              run<FmlpPlus>);
const TestRegistrar dpcp(info("dpcp", "dpcp-lp",
                              "Distributed priority ceiling protocol, by linear programs", 19,
                              "Brandenburg, RTAS 2013, with R - C as jitter"),
                         run<Dpcp>);

}  // namespace

}  // namespace deadbeat::sched::linear
