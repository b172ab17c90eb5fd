#include "envtools/fetch/downloader.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>

#include "envtools/channel/channel.h"

namespace pinstep {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetweenEvents(200);
constexpr std::uint64_t kProgress = 1 << 20;  // bytes after which a broken connection was worth having

std::string host_of(std::string_view url) {
  const std::size_t from = url.find("://");
  return std::string(url.substr(0, url.find('/', from == std::string_view::npos ? 0 : from + 3)));
}

// Hosts that did not answer at all, with what that looked like. The files still waiting would find out the
// same, each after its own time-outs.
class DeadHosts {
 public:
  std::optional<Error> find(const std::string& url) {
    const std::lock_guard lock(mutex_);
    const auto found = hosts_.find(host_of(url));
    return found == hosts_.end() ? std::nullopt : std::optional(found->second);
  }
  void add(const std::string& url, const Error& error) {
    const std::lock_guard lock(mutex_);
    hosts_.emplace(host_of(url), error);
  }

 private:
  std::mutex mutex_;
  std::map<std::string, Error> hosts_;
};

class Download {
 public:
  Download(const FetchFile& file, Transfer& transfer, DeadHosts& dead, std::function<bool(std::uint64_t)> go_on)
      : file_(file), transfer_(transfer), dead_(dead), go_on_(std::move(go_on)) {}

  // The sha256 and size of the file that is there now.
  Result<std::string> run() {
    if (const auto there = already_there(file_)) return *there;
    auto part = PartFile::open(file_);
    if (!part) return tl::unexpected(part.error());
    in_one_go_ = part->size() == 0;
    std::optional<Error> first;
    for (const std::string& url : file_.urls) {
      auto done = from_url(url, *part);
      if (done || is_final(done.error())) return done;
      if (!first) first = done.error();
    }
    return tl::unexpected(*first);
  }

 private:
  // No other server helps against these.
  bool is_final(const Error& error) const {
    return stopped_ || error.kind == ErrorKind::no_space || error.kind == ErrorKind::os;
  }

  Result<std::string> from_url(const std::string& url, PartFile& part) {
    const std::string shown = without_credentials(url);
    if (const auto dead = dead_.find(shown)) return tl::unexpected(*dead);
    for (int tries = 0;;) {
      Verdict verdict = is_whole(part) ? Verdict() : try_once(url, shown, part);
      if (own_) return tl::unexpected(*own_);
      if (verdict.next == Verdict::Next::complete) {
        auto published = part.publish();
        if (published) return published;
        const bool again = published.error().kind == ErrorKind::corrupt && !in_one_go_ && !checked_anew_;
        checked_anew_ = true;
        if (const auto emptied = start_over(part); !emptied) return tl::unexpected(emptied.error());
        if (!again) return published;
      } else if (verdict.next == Verdict::Next::start_over) {
        if (const auto emptied = start_over(part); !emptied) return tl::unexpected(emptied.error());
      } else {
        if (part.size() >= farthest_ + kProgress) tries = 0;
        farthest_ = std::max(farthest_, part.size());
        if (verdict.next == Verdict::Next::next_url) return tl::unexpected(verdict.error);
        if (++tries == kTries) {
          if (verdict.host_is_down) dead_.add(shown, verdict.error);
          return tl::unexpected(verdict.error);
        }
        if (!pause(pause_before_next(tries, verdict.wait), part)) return stop();
      }
    }
  }

  bool is_whole(const PartFile& part) const { return file_.size != 0 && part.size() == file_.size; }

  Verdict try_once(const std::string& url, const std::string& shown, PartFile& part) {
    in_one_go_ = part.size() == 0;
    const auto end = transfer_.try_once(url, part, [&] { return go_on_(part.size()); });
    own_.reset();
    if (end.stopped) {
      own_ = stop().value();
    } else if (end.own && end.own->kind == ErrorKind::corrupt && !in_one_go_) {
      return {Verdict::Next::start_over, {}, false, *end.own};  // too long: the part was of something else
    } else if (end.own) {
      own_ = end.own;
      // What comes without an end, or is too much for the disk, is not kept there: who knows whether it can be
      // the file.
      if (end.own->kind == ErrorKind::corrupt || (end.own->kind == ErrorKind::no_space && file_.size == 0))
        if (const auto emptied = part.restart(); !emptied) own_ = emptied.error();
    }
    Verdict verdict = judge(end.server, shown);
    if (verdict.next == Verdict::Next::complete && !end.server.has_length && file_.size != 0 &&
        part.size() < file_.size)
      return {Verdict::Next::try_again,
              {},
              false,
              {ErrorKind::network,
               "'" + shown + "' ended after " + std::to_string(part.size()) + " of " +
                   std::to_string(file_.size) + " bytes",
               "try again later"}};
    return verdict;
  }

  Result<void> start_over(PartFile& part) {
    in_one_go_ = true;
    return part.restart();
  }

  tl::unexpected<Error> stop() {
    stopped_ = true;
    return fail(ErrorKind::timed_out, "fetching '" + file_.path + "' was stopped",
                "the next try goes on from there");
  }

  bool pause(std::chrono::milliseconds duration, const PartFile& part) {
    const auto end = steady_clock::now() + duration;
    while (steady_clock::now() < end) {
      if (!go_on_(part.size())) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return true;
  }

  const FetchFile& file_;
  Transfer& transfer_;
  DeadHosts& dead_;
  const std::function<bool(std::uint64_t)> go_on_;
  bool in_one_go_ = true;       // nothing of the part is from an earlier try
  bool checked_anew_ = false;   // a part with the wrong digest was thrown away
  std::uint64_t farthest_ = 0;  // bytes that some try has reached
  std::optional<Error> own_;    // what ended the last try on this side
  bool stopped_ = false;
};

// The largest first, so that none is alone at the end; those of unknown size before them.
std::vector<std::size_t> order_of(const std::vector<FetchFile>& files) {
  std::vector<std::size_t> order(files.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return files[a].size - 1 > files[b].size - 1; });
  return order;
}

class Workers {
 public:
  Workers(const FetchJob& job, const TransferSettings& settings, const Supervision& supervision)
      : job_(job), settings_(settings), supervision_(supervision), order_(order_of(job.files)) {}

  std::size_t run() {
    const std::size_t count = std::min<std::size_t>(static_cast<std::size_t>(job_.connections), order_.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 1; i < count; ++i) threads.emplace_back([this] { work(); });
    work();
    for (std::thread& thread : threads) thread.join();
    return order_.size() - done_;
  }

 private:
  void work() {
    Transfer transfer(settings_);
    for (std::size_t next; (next = next_++) < order_.size() && supervision_.go_on();)
      fetch(order_[next], transfer);
  }

  void fetch(std::size_t index, Transfer& transfer) {
    FetchEvent event;
    event.file = index;
    auto told = steady_clock::now();
    const auto go_on = [&](std::uint64_t bytes) {
      if (const auto now = steady_clock::now(); now - told >= kBetweenEvents && bytes != event.bytes) {
        told = now;
        event.bytes = bytes;
        tell(event);
      }
      return supervision_.go_on();
    };
    const auto sha256 = Download(job_.files[index], transfer, dead_, go_on).run();
    if (sha256) {
      struct stat info {};
      ::stat(job_.files[index].path.c_str(), &info);
      event.kind = FetchEvent::Kind::done;
      event.bytes = static_cast<std::uint64_t>(info.st_size);
      event.sha256 = *sha256;
      ++done_;
    } else {
      event.kind = FetchEvent::Kind::failed;
      event.error = sha256.error();
    }
    tell(event);
  }

  void tell(const FetchEvent& event) {
    const std::lock_guard lock(mutex_);
    supervision_.on_event(event);
  }

  const FetchJob& job_;
  const TransferSettings& settings_;
  const Supervision& supervision_;
  const std::vector<std::size_t> order_;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::size_t> done_{0};
  std::mutex mutex_;
  DeadHosts dead_;
};

}  // namespace

std::size_t download(const FetchJob& job, const TransferSettings& settings, const Supervision& supervision) {
  std::set<std::string> directories;
  for (const FetchFile& file : job.files) directories.insert(file.path.substr(0, file.path.rfind('/') + 1));
  for (const std::string& directory : directories) adopt_leftovers(directory);
  return Workers(job, settings, supervision).run();
}

}  // namespace pinstep
