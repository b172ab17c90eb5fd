// The verbs of pinstep-worker: a file each, and one table in worker_main.cc.
#pragma once

#include <string>
#include <vector>

#include "envtools/base/error.h"

namespace pinstep::worker {

// Each does what its usage says, with the words after the verb, and ends the process with the exit code the
// manual gives; it returns where the words are wrong.
Error bench_verb(const std::vector<std::string>& words);
Error check_verb(const std::vector<std::string>& words);
Error report_verb(const std::vector<std::string>& words);
Error train_verb(const std::vector<std::string>& words);

}  // namespace pinstep::worker
