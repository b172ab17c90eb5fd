// Keeps checkpoints of a run, and stops it between two steps when a signal says so.
//
// All ranks do the same at the same step: before it goes on, each says whether it was told to stop (one
// all-reduce of four bytes). Rank 0 writes, since all have the same state; the others wait until it has, so
// nobody ends with a checkpoint that is not there.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "launcher/worker/checkpoint/directory.h"
#include "launcher/worker/device/memory.h"
#include "launcher/worker/train/trainer.h"

namespace pinstep::worker {

struct KeepSettings {
  std::string directory;      // empty: no checkpoints
  std::string who;            // has the directory, for others to read: "job 12.0, process 123 on n1"
  std::uint64_t every = 0;    // steps; 0: at the end of each epoch only
  std::optional<int> signal;  // that stops the run, beside TERM
};

// What it has done, for rank 0 to say.
struct Resumed {
  std::string path;
  Position position;
  std::uint32_t ranks = 1;           // that wrote it
  std::vector<std::string> damaged;  // newer ones that could not be read, and why
  std::vector<std::string> changes;  // of settings, as in identity.h
};
struct Kept {
  std::string path;
  Position position;
  double seconds = 0;
  int signal = 0;  // that stopped the run, or 0
};

class Keeper {
 public:
  // The references must live longer. Errors: no_space.
  static Result<std::unique_ptr<Keeper>> create(const KeepSettings& settings, Device& device,
                                                Transport& transport, Trainer& trainer,
                                                std::function<void(const Kept&)> say);

  // All ranks together. On rank 0 what it found. Errors: those of
  // CheckpointDirectory (that it can be written to is seen here) and Trainer::resume.
  Result<std::optional<Resumed>> resume();
  // Before the first step and after each, where signals are noted (train/interrupt.h); whether to go on.
  // Errors: those of writing, on rank 0, and of the transport.
  Result<bool> at_border();
  // At the end of an epoch, and of all; writes only where there is something new.
  Result<void> keep();

  // Waits for all ranks. Errors: those of the transport.
  Result<void> meet();

  // The signal that stopped the run, or 0.
  int stopped_by() const { return stopped_by_; }

 private:
  Keeper(const KeepSettings& settings, Device& device, Transport& transport, Trainer& trainer,
         std::function<void(const Kept&)> say)
      : settings_(settings),
        directory_(settings.directory),
        device_(device),
        transport_(transport),
        trainer_(trainer),
        say_(std::move(say)) {}
  // The largest of all ranks' values.
  Result<int> agree(int mine);

  const KeepSettings settings_;
  CheckpointDirectory directory_;
  Device& device_;
  Transport& transport_;
  Trainer& trainer_;
  const std::function<void(const Kept&)> say_;
  Memory word_;  // one i32, for agree()
  Position kept_;
  std::string kept_path_;
  int stopped_by_ = 0;
};

}  // namespace pinstep::worker
