#include "launcher/worker/data/loader.h"

#include <cstring>

namespace pinstep::worker {
namespace {

// One that is used, one that waits and one in the making for each thread.
constexpr std::size_t kSlotsBesidesThreads = 2;

}  // namespace

Loader::Loader(const Images& images, std::vector<std::span<const std::uint32_t>> portions, unsigned threads)
    : images_(images), portions_(std::move(portions)), slots_(threads + kSlotsBesidesThreads) {
  for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

Loader::~Loader() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
    changed_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
}

const LoadedImages* Loader::next() {
  if (given_ == portions_.size()) return nullptr;
  Slot& slot = slots_[given_ % slots_.size()];
  if (threads_.empty()) {
    load(given_++, slot.loaded);
    return &slot.loaded;
  }
  std::unique_lock lock(mutex_);
  released_ = given_;
  changed_.notify_all();
  changed_.wait(lock, [&] { return slot.holds == given_ + 1; });
  ++given_;
  return &slot.loaded;
}

void Loader::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_ending_ || may_begin(); });
    if (is_ending_) return;
    const std::size_t portion = begun_++;
    Slot& slot = slots_[portion % slots_.size()];
    lock.unlock();
    load(portion, slot.loaded);
    lock.lock();
    slot.holds = portion + 1;
    changed_.notify_all();
  }
}

void Loader::load(std::size_t portion, LoadedImages& to) const {
  const std::size_t pixels = images_.pixels();
  to.samples = portions_[portion];
  to.values.resize(to.samples.size() * pixels);
  to.labels.resize(to.samples.size());
  for (std::size_t row = 0; row < to.samples.size(); ++row) {
    const std::size_t from = to.samples[row];
    std::memcpy(to.values.data() + row * pixels, images_.values.data() + from * pixels, pixels);
    to.labels[row] = images_.labels[from];
  }
}

}  // namespace pinstep::worker
