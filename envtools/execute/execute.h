// Carrying a plan out in a stage: a directory on the store's file system that becomes the prefix by one
// rename. What the steps leave behind is a function of environment id and prefix path; the layout and what
// the tree hash covers stand in FORMAT.md.
//
//   execute_plan ─> compile_sources ─> write_records ─> (the store's own files) ─> tree_hash ─> seal ─> rename
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "envtools/base/error.h"
#include "envtools/plan/plan.h"

namespace pinstep {

// A file as it came to be in the stage.
struct FileState {
  std::string sha256;      // of its content; empty for symbolic links
  std::uint64_t size = 0;  // bytes
};

struct Executed {
  std::vector<FileState> files;               // one for each of Plan::files
  std::map<std::string, FileState> compiled;  // path of a .pyc → itself; filled by compile_sources()
  std::size_t linked = 0, copied = 0;         // files from the cache, for messages
};

// Called in the thread that called execute_plan(), a few times per second and once at the end.
using LinkProgress = std::function<void(std::size_t done, std::size_t total)>;

// Makes directories and files; the stage must exist and be empty. jobs ≥ 1 threads, largest files first.
// Files get 0444 or 0555 whatever the umask; directories stay writable until seal(). How to link (reflink,
// hard link, copy) is tried once; a file that cannot be linked is copied.
// Errors: corrupt (the cache), no_space, refused, os; the first one ends the work.
Result<Executed> execute_plan(const Plan& plan, const std::string& stage, int jobs,
                              const LinkProgress& progress = {});

// Byte-compiles plan.compile by the stage's own python in `jobs` processes. A source that python cannot compile
// is left uncompiled, as compileall does. Nothing to do without python or sources. Errors: corrupt (the
// stage's python does not run), no_space, os. (compile.cc)
Result<void> compile_sources(const Plan& plan, const std::string& stage, int jobs, Executed& executed);

// conda-meta/NAME-VERSION-BUILD.json for each conda package. (records.cc)
Result<void> write_records(const Plan& plan, const std::string& stage, const Executed& executed);

// sha256 over the tree below `directory`, with `prefix` (where it lies or will lie) taken out: equal for the
// same environment at any path. conda-meta/pinstep/ is left out, except the activation. Files whose path is in
// `known` are not read again: path → sha256. (tree_hash.cc)
// Errors: corrupt (a record that cannot be read), os.
Result<std::string> tree_hash(const std::string& directory, const std::string& prefix, int jobs,
                              const std::map<std::string, std::string>& known = {});
// What execute_plan() linked or copied unchanged: verified when it was extracted.
std::map<std::string, std::string> known_digests(const Plan& plan);

// Takes the write permission from every directory and file below and sets the times of directories. The stage
// itself as well: it can still be renamed within its directory. (seal.cc)
Result<void> seal(const Plan& plan, const std::string& stage);

}  // namespace pinstep
