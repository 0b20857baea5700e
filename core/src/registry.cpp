// The lists that policies and tests enter by themselves when the library is loaded.
#include <algorithm>
#include <array>

#include "deadbeat/sched/generators.hpp"
#include "deadbeat/sched/partition.hpp"
#include "deadbeat/sched/policy.hpp"
#include "deadbeat/sched/tests.hpp"

namespace deadbeat::sched {

namespace {

// Functions, because registrars of other files may run before this file's own initialisers.
template <class Entry>
std::vector<Entry>& list() {
    static std::vector<Entry> entries;
    return entries;
}

template <class Entry, class Less>
void insert(Entry entry, Less less) {
    auto& entries = list<Entry>();
    entries.insert(std::ranges::upper_bound(entries, entry, less), std::move(entry));
}

template <class Entry>
bool by_name(const Entry& a, const Entry& b) {
    return a.info.name < b.info.name;
}

template <class Entry>
const Entry* find(const std::string& name) {
    const auto& entries = list<Entry>();
    const auto found =
        std::ranges::find_if(entries, [&](const Entry& entry) { return entry.info.name == name; });
    return found == entries.end() ? nullptr : &*found;
}

}  // namespace

PolicyRegistrar::PolicyRegistrar(PolicyInfo info, PolicyFactory make, PolicyFacts facts) {
    insert(PolicyEntry{std::move(info), make, facts}, by_name<PolicyEntry>);
}
const std::vector<PolicyEntry>& policies() { return list<PolicyEntry>(); }
const PolicyEntry* find_policy(const std::string& name) { return find<PolicyEntry>(name); }
PolicyInfo facts_of(const Options& options) {
    const PolicyEntry& entry = *find_policy(options.policy);
    return entry.facts == nullptr ? entry.info : entry.facts(entry.info, options);
}

TestRegistrar::TestRegistrar(TestInfo info, TestFunction run) {
    insert(TestEntry{std::move(info), run}, [](const TestEntry& a, const TestEntry& b) {
        return a.info.cost != b.info.cost ? a.info.cost < b.info.cost : by_name(a, b);
    });
}
const std::vector<TestEntry>& schedulability_tests() { return list<TestEntry>(); }
const TestEntry* find_test(const std::string& name) { return find<TestEntry>(name); }

UtilisationRegistrar::UtilisationRegistrar(Sampler info, decltype(UtilisationEntry::make) make) {
    insert(UtilisationEntry{std::move(info), make}, by_name<UtilisationEntry>);
}
const std::vector<UtilisationEntry>& utilisation_samplers() { return list<UtilisationEntry>(); }
const UtilisationEntry* find_utilisation_sampler(const std::string& name) {
    return find<UtilisationEntry>(name);
}

PeriodRegistrar::PeriodRegistrar(Sampler info, decltype(PeriodEntry::make) make) {
    insert(PeriodEntry{std::move(info), make}, by_name<PeriodEntry>);
}
const std::vector<PeriodEntry>& period_samplers() { return list<PeriodEntry>(); }
const PeriodEntry* find_period_sampler(const std::string& name) { return find<PeriodEntry>(name); }

TestVerdict best_placement(TestFunction test, const System& system, TestOptions& options,
                           std::span<Time> bounds) {
    static const auto names = [] {
        std::vector<std::string> all;
        for (const auto& [heuristic, order] : placing_rules()) {
            all.push_back(heuristic + ", " + order);
        }
        return all;
    }();
    TestVerdict found;
    const std::string first = options.order;
    for (const bool preferred : {true, false}) {
        for (std::size_t i = 0; i < names.size(); i++) {
            const auto& [heuristic, order] = placing_rules()[i];
            if ((order == first) != preferred) {
                continue;
            }
            options.partition = heuristic;
            options.order = order;
            found = test(system, options, bounds);
            if (found.answer == TestAnswer::accepted && system.processors > 1) {
                return {TestAnswer::accepted, names[i].c_str()};
            }
            if (found.answer != TestAnswer::not_accepted || system.processors == 1) {
                return found;
            }
        }
    }
    return found.reason == kAnotherMeets ? TestVerdict{TestAnswer::accepted, "found by a search"}
                                         : found;
}

}  // namespace deadbeat::sched
