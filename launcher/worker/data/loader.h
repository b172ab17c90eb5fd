// Portions of a set of images, put together ahead of their use by threads. Whatever the number of threads, they
// come in the order that was asked for.
#pragma once

#include <condition_variable>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "launcher/worker/data/images.h"

namespace pinstep::worker {

// In host memory, row after row.
struct LoadedImages {
  std::span<const std::uint32_t> samples;
  std::string values;
  std::string labels;
};

class Loader {
 public:
  // Begins with the first portions at once. `threads` 0: each is put together when it is asked for. What the
  // spans are of, and the images, must live longer; a sample beyond the images is undefined.
  Loader(const Images& images, std::vector<std::span<const std::uint32_t>> portions, unsigned threads);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // The next portion, there until the next call; nullptr after the last.
  const LoadedImages* next();

 private:
  struct Slot {
    LoadedImages loaded;
    std::size_t holds = 0;  // number of the portion + 1; 0 before the first
  };

  void work();
  void load(std::size_t portion, LoadedImages& to) const;
  bool may_begin() const { return begun_ < portions_.size() && begun_ < released_ + slots_.size(); }

  const Images& images_;
  const std::vector<std::span<const std::uint32_t>> portions_;
  std::vector<Slot> slots_;  // portion p is in slot p % slots; `holds` is guarded, the rest is its thread's
  std::size_t given_ = 0;    // portions given out; used by the caller's thread alone

  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::size_t begun_ = 0;
  std::size_t released_ = 0;  // portions the caller has done with
  bool is_ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace pinstep::worker
