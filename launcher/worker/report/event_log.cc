#include "launcher/worker/report/event_log.h"

#include <fcntl.h>

#include <algorithm>
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
  log.path_ = path;
  log.file_ = UniqueFd(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  struct stat info {};
  if (!log.file_.valid() || ::fstat(log.file_.get(), &info) != 0) return fail_errno(errno, "open", path);
  char last = '\n';
  if (info.st_size > 0 && ::pread(log.file_.get(), &last, 1, info.st_size - 1) != 1) last = ' ';
  log.is_cut_ = last != '\n';
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
  if (file_.valid() && !pending_.empty()) {
    const bool is_whole = (!is_cut_ || write_all(file_.get(), "\n")) && write_all(file_.get(), pending_);
    if (!is_whole && trouble_ == 0) trouble_ = errno;
    if (!is_whole) lost_ += static_cast<std::uint64_t>(std::count(pending_.begin(), pending_.end(), '\n'));
    is_cut_ = !is_whole;
  }
  pending_.clear();
  last_flush_ = std::chrono::steady_clock::now();
}

}  // namespace pinstep::worker
