// The activation of a prefix: the environment edits that make a process run in it, recorded when the
// prefix was built and applied without a shell. Format: FORMAT.md beside this file.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "envtools/base/clock.h"
#include "envtools/base/environment.h"
#include "envtools/base/error.h"

namespace pinstep {

// Who may own what we act on: the user himself, root, and the accounts root's configuration names.
struct Trust {
  uid_t user = 0;
  std::vector<uid_t> also;

  bool covers(uid_t owner) const;
};

class Activation {
 public:
  static constexpr std::size_t kSizeLimit = 1 << 20;  // bytes of an activation file
  static constexpr std::size_t kRecordLimit = 4096;   // Slurm's own setenv is linear in the environment's size

  // The content of an activation file; `path` is for messages. Errors: corrupt, unsupported (a newer
  // version or an unknown edit: written by a newer pinstep).
  static Result<Activation> parse(std::string content, const std::string& path);

  // The 64 hex digits of the environment id, or "-" for a prefix that pinstep did not build.
  std::string_view id() const { return id_; }
  // In the order to be applied. Views into this object, which may be moved meanwhile.
  const std::vector<Edit>& edits() const { return edits_; }

 private:
  std::unique_ptr<const std::string> content_;  // on the heap: moving a short string would move its text
  std::string_view id_;
  std::vector<Edit> edits_;
};

// The file's text; parse(format(id, edits)) gives id and edits back.
std::string format_activation(std::string_view id, const std::vector<Edit>& edits);

std::string activation_path(const std::string& prefix);

// Reads `<prefix>/conda-meta/pinstep/activation` with one open, fstat and read. A file that is not there
// is looked for again until `patience` is over: NFS clients remember absence for a while. Errors:
// not_found, refused (unreadable, a symbolic link, an owner we do not trust), corrupt, unsupported, os.
Result<Activation> load_activation(const std::string& prefix, const Trust& trust, Clock& clock,
                                   Clock::Milliseconds patience);

}  // namespace pinstep
