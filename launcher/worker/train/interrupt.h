// The signals by which Slurm says that a job's time is nearly over.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace pinstep::worker {

// "USR1" or "SIGUSR1"; nothing for one that cannot be waited for with a purpose.
std::optional<int> parse_signal(std::string_view name);
std::string_view signal_name(int number);  // "USR1"; "" for one that parse_signal() does not know

// From now on these are noted and do nothing else.
void note_signals(const std::vector<int>& numbers);
// The last one noted; 0 for none.
int noted_signal();

}  // namespace pinstep::worker
