#include "launcher/worker/report/event_log.h"

#include <fcntl.h>

#include <filesystem>

namespace pinstep::worker {
namespace {

constexpr std::chrono::seconds kPatience{1};
constexpr std::size_t kMostPending = 65536;

double unix_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

std::string log_name(std::uint32_t rank) { return "rank-" + std::to_string(rank) + ".jsonl"; }

Result<EventLog> EventLog::open(const std::string& directory, std::uint32_t rank) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return fail_errno(error.value(), "make directory", directory);
  const std::string path = directory + "/" + log_name(rank);
  EventLog log;
  log.file_ = UniqueFd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!log.file_.valid()) return fail_errno(errno, "open", path);
  return log;
}

void EventLog::add(Json event) {
  if (!is_open()) return;
  event["time"] = unix_time();
  const bool is_step = event.value("event", "") == "step";
  pending_ += dump_json(event) + "\n";
  const bool is_due =
      std::chrono::steady_clock::now() - last_flush_ > kPatience || pending_.size() > kMostPending;
  if (!is_step || is_due) flush();
}

void EventLog::flush() noexcept {
  if (file_.valid() && !pending_.empty()) write_all(file_.get(), pending_);
  pending_.clear();
  last_flush_ = std::chrono::steady_clock::now();
}

}  // namespace pinstep::worker
