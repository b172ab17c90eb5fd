// Where ranks leave words for each other before they are connected: a key is set once and read by anybody.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "envtools/base/error.h"

namespace pinstep::worker {

using Milliseconds = std::chrono::milliseconds;

class Store {
 public:
  virtual ~Store() = default;

  // Replaces what is there. Errors: network.
  virtual Result<void> set(const std::string& key, std::string_view value) = 0;
  // The value, waited for. Errors: timed_out (nobody set it in time), network (the store, or a rank, is gone).
  virtual Result<std::string> get(const std::string& key, Milliseconds timeout) = 0;
  // Until all are there. Errors: as get.
  Result<void> wait(const std::vector<std::string>& keys, Milliseconds timeout);
};

// For ranks in one process.
class MemoryStore final : public Store {
 public:
  Result<void> set(const std::string& key, std::string_view value) override;
  Result<std::string> get(const std::string& key, Milliseconds timeout) override;

 private:
  std::mutex mutex_;  // guards values_
  std::condition_variable changed_;
  std::map<std::string, std::string> values_;
};

}  // namespace pinstep::worker
