#include "launcher/worker/store/store.h"

#include <algorithm>

namespace pinstep::worker {

Result<void> Store::wait(const std::vector<std::string>& keys, Milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (const std::string& key : keys) {
    const auto left = std::chrono::duration_cast<Milliseconds>(deadline - std::chrono::steady_clock::now());
    if (const auto value = get(key, std::max(left, Milliseconds(0))); !value)
      return tl::unexpected(value.error());
  }
  return {};
}

Result<void> MemoryStore::set(const std::string& key, std::string_view value) {
  const std::lock_guard lock(mutex_);
  values_[key] = value;
  changed_.notify_all();
  return {};
}

Result<std::string> MemoryStore::get(const std::string& key, Milliseconds timeout) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, timeout, [&] { return values_.contains(key); }))
    return fail(ErrorKind::timed_out,
                "nobody set '" + key + "' within " + std::to_string(timeout.count()) + " ms");
  return values_[key];
}

}  // namespace pinstep::worker
