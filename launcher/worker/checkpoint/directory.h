// The checkpoints of one run in one directory: DIR/step-000000001940.safetensors, the newest and the one
// before.
//
// A file is whole or not there: it is written under another name, synced, renamed, and the directory is synced.
// One run at a time, whose rank 0 holds a lock (flock) on DIR/.lock as long as it lives; who that is stands in
// it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "envtools/base/fd.h"
#include "launcher/worker/checkpoint/checkpoint.h"

namespace pinstep::worker {

class CheckpointDirectory {
 public:
  explicit CheckpointDirectory(std::string path) : path_(std::move(path)) {}

  // As prepare_directory(); and takes the lock, in the name of `who`. Errors: busy (another run has it), and
  // those of prepare_directory().
  Result<void> prepare(const std::string& who);

  // After prepare(). Removes all but the newest and the one before, and what a killed write left. Returns the
  // file's path. Errors: refused, no_space, os.
  Result<std::string> write(const Checkpoint& checkpoint) const;

  struct Found {
    Checkpoint checkpoint;
    std::string path;
    std::vector<std::string> damaged;  // newer ones, put out of the way: each with its path and why
  };
  // The newest that can be read; nothing where there is none at all. A damaged one gets the ending ".damaged".
  // Errors: corrupt (there are some, or were, and none can be read), unsupported, and those of reading.
  Result<std::optional<Found>> newest() const;

 private:
  std::string path_;
  UniqueFd lock_;
};

}  // namespace pinstep::worker
