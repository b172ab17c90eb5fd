// The options of one verb: rows that know where their value goes, and one function that reads words by them.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "envtools/base/error.h"
#include "launcher/worker/store/store.h"

namespace pinstep::worker {

struct Option {
  std::string_view name;   // with its dashes
  std::string_view wants;  // what its value is, for a message; empty for one without a value
  std::function<bool(std::string_view value)> read;  // whether it is that
};

// Rows for values of the usual kinds. Each keeps a reference to where the value goes.
Option flag_option(std::string_view name, bool& value);
Option text_option(std::string_view name, std::string_view wants, std::string& value);
Option count_option(std::string_view name, std::uint32_t& value, std::uint32_t least = 1);
Option count_option(std::string_view name, std::uint64_t& value, std::uint64_t least = 1);
Option real_option(std::string_view name, float& value);            // from 0
Option seconds_option(std::string_view name, Milliseconds& value);  // from 0.1
Option bytes_option(std::string_view name, std::size_t& value);     // 1000, 64K, 25M, 1G: powers of 1024
Option rate_option(std::string_view name, double& value);           // 1000, 64K, 12.5G: powers of 1000
Option rows_option(std::string_view name, std::uint32_t& value);    // of a batch
Option layers_option(std::string_view name, std::vector<std::uint32_t>& value);
Option choice_option(std::string_view name, std::string_view wants, std::function<bool(std::string_view)> read);

// Reads `--name value` and `--name=value`. Words that are no options go to `rest`, where the verb takes any.
// Errors: usage.
Result<void> read_options(const std::vector<std::string>& words, const std::vector<Option>& options,
                          std::vector<std::string>* rest = nullptr);

}  // namespace pinstep::worker
