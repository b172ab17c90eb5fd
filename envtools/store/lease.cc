#include "envtools/store/lease.h"

#include <dirent.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "envtools/base/clock.h"
#include "envtools/base/fd.h"
#include "envtools/base/process_tag.h"
#include "envtools/base/text.h"
#include "envtools/pin/pin.h"

// A lease is a directory that holds one file, named by its holder's token. It appears by rename(2) of a
// directory made aside, which replaces an absent or empty directory and no other; it is given back, or taken
// from the dead, by unlinking that very file. Since no two holders have a token in common, whoever was late
// can only fail to find the file: it never hits the lease of somebody else.
namespace pinstep {
namespace {

constexpr std::size_t kContentLimit = 4096;
constexpr mode_t kDirectoryMode = 02775;  // in a project store any member may bury the dead

// The field `number` (1-based, counted as proc(5) does) of /proc/PID/stat from the state on.
std::string start_time(pid_t pid) {
  const auto file = ::open(("/proc/" + std::to_string(pid) + "/stat").c_str(), O_RDONLY | O_CLOEXEC);
  const UniqueFd stat(file);
  char buffer[1024];
  const ssize_t size = stat.valid() ? ::read(stat.get(), buffer, sizeof buffer) : 0;
  const std::string_view text(buffer, size > 0 ? static_cast<std::size_t>(size) : 0);
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos) return "-";
  const auto fields = split(text.substr(name_end + 1), ' ');  // "", state, ppid, …; starttime is field 22
  constexpr std::size_t kStartTime = 22 - 2;
  return fields.size() > kStartTime ? std::string(fields[kStartTime]) : "-";
}

std::string own_holder() {
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  passwd account{};
  passwd* found = nullptr;
  char buffer[4096];
  const bool known = ::getpwuid_r(::getuid(), &account, buffer, sizeof buffer, &found) == 0 && found != nullptr;
  return std::string(host) + " " + std::to_string(::getpid()) + " " +
         (known ? account.pw_name : std::to_string(::getuid()));
}

// Line 1: the holder for people. Line 2: process tag, start time. Line 3: number of the beat.
struct Content {
  std::string holder;
  std::string process;

  std::string text(std::uint64_t beat) const {
    return holder + "\n" + process + "\n" + std::to_string(beat) + "\n";
  }
};

Content own_content() { return {own_holder(), process_tag() + " " + start_time(::getpid())}; }

// Whether the text's process could be seen from here and is not there.
bool names_the_dead(std::string_view text) {
  const auto lines = split(text, '\n');
  const auto words = lines.size() > 1 ? split_once(lines[1], ' ') : std::nullopt;
  if (!words) return false;
  if (is_gone(words->before)) return true;
  // The number may have gone to another process.
  const auto tag = split_once(words->before, '-');
  const auto pid = tag ? parse_number<std::uint32_t>(tag->after) : std::nullopt;
  const auto own_tag = process_tag();
  if (!pid || split_once(own_tag, '-')->before != tag->before) return false;
  const std::string started = start_time(static_cast<pid_t>(*pid));
  return started != "-" && words->after != "-" && started != words->after;
}

Result<void> write_content(const std::string& path, const std::string& text, int flags) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | flags, 0644));
  if (!file.valid()) return fail_errno(errno, "write", path);
  if (::pwrite(file.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
    return fail_errno(errno == 0 ? EIO : errno, "write", path);
  if (flags & O_CREAT) ::fchmod(file.get(), 0644);
  return {};
}

// The names in the directory, sorted; none where there is no directory. Not only those that we make: what an
// NFS server keeps as .nfs… for a process that has it open is in the way as well.
Result<std::vector<std::string>> names_in(const std::string& directory) {
  std::vector<std::string> names;
  DIR* entries = ::opendir(directory.c_str());
  if (entries == nullptr && errno == ENOENT) return names;
  if (entries == nullptr) return fail_errno(errno, "list", directory);
  while (const dirent* entry = ::readdir(entries))
    if (const std::string_view name = entry->d_name; name != "." && name != "..") names.emplace_back(name);
  ::closedir(entries);
  std::sort(names.begin(), names.end());
  return names;
}

// A lease as it is seen at one moment; free where there is no name.
struct Seen {
  std::vector<std::string> names;
  std::string text;  // of the first

  bool is_free() const { return names.empty(); }
  bool operator==(const Seen&) const = default;
};

Result<Seen> look(const std::string& path) {
  auto names = names_in(path);
  if (!names) return tl::unexpected(names.error());
  Seen seen{std::move(*names), ""};
  if (seen.is_free()) return seen;
  if (auto content = read_file(path + "/" + seen.names.front(), kContentLimit))
    seen.text = std::move(content->text);
  return seen;
}

std::string holder_of(const Seen& seen) { return std::string(split(seen.text, '\n')[0]); }

// Makes the lease under the token. False: somebody has it.
Result<bool> create(const std::string& path, const std::string& token, const Content& content) {
  const std::string aside = path + ".new-" + token;
  if (::mkdir(aside.c_str(), 0755) != 0) return fail_errno(errno, "create", aside);
  ::chmod(aside.c_str(), kDirectoryMode);
  const std::string file = aside + "/" + token;
  const auto discard = [&] {
    ::unlink(file.c_str());
    ::rmdir(aside.c_str());
  };
  if (auto written = write_content(file, content.text(0), O_CREAT | O_EXCL); !written) {
    discard();
    return tl::unexpected(written.error());
  }
  if (::rename(aside.c_str(), path.c_str()) == 0) return true;
  const int error_number = errno;
  discard();
  if (error_number == ENOTEMPTY || error_number == EEXIST) return false;
  return fail_errno(error_number, "create", path);
}

Result<void> take_out(const std::string& path, const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (const std::string file = path + "/" + name; ::unlink(file.c_str()) != 0 && errno != ENOENT)
      return fail_errno(errno, "remove", file, "its holder is gone; the owner of the file can remove it");
  ::rmdir(path.c_str());  // fails where somebody else has it now
  return {};
}

}  // namespace

struct Lease::State {
  std::string path;
  std::string token;
  Content content;
  std::chrono::milliseconds beat;

  std::mutex mutex;
  std::condition_variable changed;
  bool ending = false;  // guarded by mutex
  std::atomic<bool> lost = false;
  std::thread heart;

  std::string file() const { return path + "/" + token; }

  void run() {
    std::unique_lock lock(mutex);
    for (std::uint64_t number = 1; !changed.wait_for(lock, beat, [&] { return ending; }); ++number) {
      lock.unlock();
      const auto written = write_content(file(), content.text(number), 0);
      // A full disk or a server that is away does not take the lease from us; that the file is gone does.
      if (!written && written.error().kind == ErrorKind::not_found) lost = true;
      lock.lock();
    }
  }
};

Lease::Lease(std::unique_ptr<State> state) : state_(std::move(state)) {
  // Signals are the business of the other threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  state_->heart = std::thread([own = state_.get()] { own->run(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Lease::Lease(Lease&&) noexcept = default;

Lease::~Lease() {
  if (!state_) return;
  {
    const std::lock_guard lock(state_->mutex);
    state_->ending = true;
  }
  state_->changed.notify_all();
  state_->heart.join();
  [[maybe_unused]] const auto given_back = take_out(state_->path, {state_->token});
}

bool Lease::held() const { return !state_->lost && ::access(state_->file().c_str(), F_OK) == 0; }

Result<std::unique_ptr<Lease>> LeaseTaker::take(const std::string& path, const LeaseTimes& times,
                                                const std::function<bool()>& is_done,
                                                const std::function<void(const std::string&)>& on_wait) {
  SystemClock clock;
  Seen watched;
  Clock::Milliseconds since{0};
  bool waited = false;
  while (!is_done()) {
    auto looked = look(path);
    if (!looked) return tl::unexpected(looked.error());
    Seen& seen = *looked;
    if (seen.is_free()) {
      auto state = std::make_unique<Lease::State>();
      state->path = path;
      state->token = new_token();
      state->content = own_content();
      state->beat = times.beat;
      const auto created = create(path, state->token, state->content);
      if (!created) return tl::unexpected(created.error());
      if (!*created) {
        clock.sleep(times.poll);
        continue;
      }
      auto lease = std::unique_ptr<Lease>(new Lease(std::move(state)));
      if (is_done()) break;  // by the one who had it until just now
      return lease;
    }
    if (!(seen == watched)) {
      watched = seen;
      since = clock.now();
    }
    if (names_the_dead(seen.text) || clock.now() - since >= times.dead_after) {
      if (auto removed = take_out(path, seen.names); !removed) return tl::unexpected(removed.error());
      continue;
    }
    if (!waited) on_wait(holder_of(seen));
    waited = true;
    clock.sleep(times.poll);
  }
  return nullptr;
}

bool is_abandoned(const std::string& path) {
  const auto seen = look(path);
  return seen && (seen->is_free() || names_the_dead(seen->text));
}

}  // namespace pinstep
