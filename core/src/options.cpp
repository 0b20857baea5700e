#include "deadbeat/sched/options.hpp"

#include <map>

#include "deadbeat/sched/partition.hpp"

namespace deadbeat::sched {

const std::vector<std::string>& option_words(const std::string& option) {
    static const auto placements = [] {
        std::vector<std::string> all = partition_heuristics();
        all.push_back(kAnyPlacement);
        return all;
    }();
    static const std::map<std::string, std::vector<std::string>> words = {
        {"priorities", {"rm", "dm", "given"}},
        {"partition", placements},
        {"order", partition_orders()},
        {"admission", partition_admissions()},
        {"unplaced", {"reject", "least-loaded"}},
        {"balance", {"none", "offline", "pull", "both", "sticky", "release"}},
    };
    static const std::vector<std::string> none;
    const auto found = words.find(option);
    return found == words.end() ? none : found->second;
}

}  // namespace deadbeat::sched
