#include "launcher/worker/train/keeper.h"

#include <chrono>

#include "launcher/worker/train/interrupt.h"
#include "launcher/worker/try.h"

namespace pinstep::worker {

Result<std::unique_ptr<Keeper>> Keeper::create(const KeepSettings& settings, Device& device,
                                               Transport& transport, Trainer& trainer,
                                               std::function<void(const Kept&)> say) {
  std::unique_ptr<Keeper> keeper(new Keeper(settings, device, transport, trainer, std::move(say)));
  auto word = Memory::allocate(device, 1, Type::i32);
  if (!word) return tl::unexpected(word.error());
  keeper->word_ = std::move(*word);
  return keeper;
}

Result<std::optional<Resumed>> Keeper::resume() {
  std::optional<CheckpointDirectory::Found> found;
  if (transport_.rank() == 0) {
    PINSTEP_TRY(directory_.prepare(settings_.who));
    auto newest = directory_.newest();
    if (!newest) return tl::unexpected(newest.error());
    found = std::move(*newest);
  }
  const auto resumed = trainer_.resume(found ? &found->checkpoint : nullptr);
  if (!resumed) return tl::unexpected(resumed.error());
  kept_ = trainer_.position();
  if (!found) return std::nullopt;
  kept_path_ = found->path;
  return Resumed{found->path, kept_, found->checkpoint.ranks, std::move(found->damaged),
                 changes(trainer_.identity(), found->checkpoint)};
}

Result<bool> Keeper::at_border() {
  const auto signal = agree(noted_signal());
  if (!signal) return tl::unexpected(signal.error());
  stopped_by_ = *signal;
  const bool is_due = settings_.every > 0 && trainer_.position().steps % settings_.every == 0;
  if (stopped_by_ != 0 && trainer_.position() == kept_ && transport_.rank() == 0)
    say_({kept_path_, kept_, 0, stopped_by_});
  if (stopped_by_ != 0 || is_due) PINSTEP_TRY(keep());
  return stopped_by_ == 0;
}

Result<void> Keeper::keep() {
  if (trainer_.position() == kept_) return {};
  const auto began = std::chrono::steady_clock::now();
  const auto checkpoint = trainer_.checkpoint();
  if (!checkpoint) return tl::unexpected(checkpoint.error());
  Kept kept{"", checkpoint->position, 0, stopped_by_};
  if (transport_.rank() == 0) {
    auto path = directory_.write(*checkpoint);
    if (!path) return tl::unexpected(path.error());
    kept.path = kept_path_ = std::move(*path);
  }
  PINSTEP_TRY(meet());  // rank 0 has written
  kept_ = checkpoint->position;
  kept.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  if (transport_.rank() == 0) say_(kept);
  return {};
}

Result<void> Keeper::meet() {
  const auto met = agree(0);
  if (!met) return tl::unexpected(met.error());
  return {};
}

Result<int> Keeper::agree(int mine) {
  std::int32_t word = mine;
  const Array array = word_.array();
  PINSTEP_TRY(device_.copy(Stream{}, array.data, &word, sizeof word, Direction::to_device));
  PINSTEP_TRY(transport_.all_reduce(array, Reduction::maximum, Stream{}));
  PINSTEP_TRY(device_.copy(Stream{}, &word, array.data, sizeof word, Direction::to_host));
  PINSTEP_TRY(device_.synchronize(Stream{}));
  return word;
}

}  // namespace pinstep::worker
