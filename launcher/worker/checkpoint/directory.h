// The checkpoints of one run in one directory: DIR/step-000000001940.safetensors, the newest and the one
// before.
//
// A file is whole or not there: it is written under another name, synced, renamed, and the directory is synced.
// One process writes at a time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/worker/checkpoint/checkpoint.h"

namespace pinstep::worker {

class CheckpointDirectory {
 public:
  explicit CheckpointDirectory(std::string path) : path_(std::move(path)) {}

  // Makes the directory where it is missing, and sees that it can be written to: before hours are spent that
  // could not be kept. Errors: not_found (the directory above), refused, os.
  Result<void> prepare() const;

  // After prepare(). Removes all but the newest and the one before, and what a killed write left. Returns the
  // file's path. Errors: refused, no_space, os.
  Result<std::string> write(const Checkpoint& checkpoint) const;

  struct Found {
    Checkpoint checkpoint;
    std::string path;
    std::vector<std::string> damaged;  // newer ones, put out of the way: each with its path and why
  };
  // The newest that can be read; nothing where there is none at all. A damaged one gets the ending ".damaged".
  // Errors: corrupt (there are some and none can be read), unsupported, and those of reading.
  Result<std::optional<Found>> newest() const;

 private:
  std::string path_;
};

}  // namespace pinstep::worker
