// A tree that is not to be changed by what runs meanwhile.
#pragma once

#include <sys/stat.h>

#include <map>
#include <string>

#include "envtools/base/error.h"

namespace pinstep {

// Nobody may write into the tree while this lives, as far as modes hold: its owner can set them, root needs
// none. So release() looks, too.
class GuardedTree {
 public:
  // Takes the right to write from directories and files. Errors: not_found, refused, os.
  static Result<GuardedTree> guard(const std::string& directory);

  // Gives directories their modes back; files stay sealed, as they will be published. Errors: corrupt, naming a
  // path that was made, changed or removed.
  Result<void> release();

 private:
  // What tells that an entry is what it was. Of directories also the time of the last change, which cannot be
  // set: that they have the same names in them.
  struct Entry {
    mode_t mode;  // while guarded
    ino_t inode;
    off_t size;
    timespec modified, changed;
    mode_t mode_before;

    bool same_as(const Entry& other) const;
  };
  using Entries = std::map<std::string, Entry>;  // by path below the tree; "" is the tree itself

  explicit GuardedTree(std::string directory) : directory_(std::move(directory)) {}
  static Result<Entries> list(const std::string& directory);

  std::string directory_;
  Entries entries_;
};

}  // namespace pinstep
