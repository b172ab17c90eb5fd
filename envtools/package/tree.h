// Writing an archive's members below one directory, and nowhere else: every parent is opened step by step
// without following links, so no member can be led through a symbolic link that came before it. Contents are
// hashed on their way.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "envtools/base/error.h"
#include "envtools/base/fd.h"
#include "envtools/hash/hash.h"

namespace pinstep {

// What a member has become.
struct Extracted {
  enum class Type { file, symlink, directory };

  Type type = Type::file;
  std::string sha256;      // of a file
  std::uint64_t size = 0;  // of a file, bytes
};
using ExtractedTree = std::map<std::string, Extracted>;

class Tree {
 public:
  // The directory exists; `archive` is named in messages.
  static Result<Tree> open(const std::string& directory, std::string archive);

  // Paths are inner paths (names.h). A later member replaces an earlier one, as tar does it; but a directory
  // stays one. Errors: refused (a parent is a symbolic link), corrupt, no_space, os.
  Result<void> make_directory(const std::string& path);
  Result<void> make_symlink(const std::string& path, const std::string& target);
  Result<void> make_hard_link(const std::string& path, const std::string& existing);

  // A file: begun, filled, finished. Mode 0444 or 0555; `mtime` in seconds, floored at 1980, before which zip
  // files and some tools cannot count.
  Result<void> begin_file(const std::string& path, bool executable, std::int64_t mtime);
  Result<void> append(std::string_view bytes);
  Result<void> finish_file();

  const ExtractedTree& extracted() const { return extracted_; }

 private:
  struct Place {
    int parent;
    std::string name;
  };

  Tree(UniqueFd root, std::string archive) : root_(std::move(root)), archive_(std::move(archive)) {}

  Result<Place> place_of(const std::string& path);
  Result<UniqueFd> enter(int parent, const std::string& name, const std::string& path) const;
  Result<void> clear(const Place& place, const std::string& path);
  tl::unexpected<Error> fail_at(int error_number, const std::string& path) const;

  UniqueFd root_;
  std::string archive_;
  // The directory of the last member: most members share it with the one before.
  UniqueFd parent_;
  std::string parent_path_;
  ExtractedTree extracted_;

  struct OpenFile {
    UniqueFd fd;
    std::string path;
    bool executable = false;
    std::int64_t mtime = 0;
    std::uint64_t size = 0;
    Hasher hasher;
  };
  std::optional<OpenFile> file_;
};

}  // namespace pinstep
