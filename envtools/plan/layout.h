// The tree of a prefix while it is planned: who has which path.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "envtools/plan/plan.h"

namespace pinstep {

// A path belongs to the first who asks for it; a file excludes everything below its path and the other way
// round.
class Layout {
 public:
  // Gives nothing where the file got its path, else the index of a file that is in its way.
  std::optional<std::size_t> add(PlannedFile file);
  // The same for a directory; directories are shared.
  std::optional<std::size_t> add_directory(const std::string& path);

  const PlannedFile* find(const std::string& path) const;
  const std::vector<PlannedFile>& files() const { return files_; }

  // Whether a symbolic link leads to a path of the tree, there or not, when links on the way are followed. One
  // that goes round in circles leads nowhere and is harmless.
  bool stays_inside(const PlannedFile& link) const;

  // Both sorted.
  std::vector<std::string> directories() const;
  std::vector<PlannedFile> take_files() &&;

 private:
  std::optional<std::size_t> obstacle_above(const std::string& path) const;
  void claim_directories(const std::string& path, std::size_t file);

  std::vector<PlannedFile> files_;
  std::unordered_map<std::string, std::size_t> by_path_;
  std::unordered_map<std::string, std::size_t> directories_;  // → a file below it, or kNoOwner
};

}  // namespace pinstep
