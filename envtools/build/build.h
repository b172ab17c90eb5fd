// The contract between pinstep and its private program pinstep-build, which makes a prefix from a lock
// (and alone links libarchive and libzstd). One job as JSON on standard input, one result as JSON on standard
// output; progress goes to standard error, a moving line on a terminal, else a line every 30 s.
//
//   lock ─ identity ─> id ─ published? ─> done
//        └ lease on the id ─> fetch ─> extract ─> plan ─> link ─> compile ─> record ─> publish (one rename)
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "envtools/base/environment.h"
#include "envtools/base/error.h"
#include "envtools/channel/access.h"
#include "envtools/lock/lock.h"

namespace pinstep {

struct BuildJob {
  std::string lock_text;
  std::string lock_path;  // for messages
  std::string platform;
  std::string name;  // of the environment, for people; may be empty
  BuildOptions options;
  std::string store;                // absolute: built into
  std::vector<std::string> stores;  // searched as well, absolute
  std::vector<uid_t> trusted_uids;
  std::map<std::string, std::vector<std::string>> channel_urls;  // artifacts.h
  Access access;
  std::string fetch_program;  // pinstep-fetch
  int jobs = 0;               // threads; 0: as many as there are cores
  bool quiet = false;
  bool verbose = false;   // a line when each stage begins: "stage: link"
  bool progress = false;  // standard error is a terminal
};

struct BuildResult {
  std::string id;
  std::string prefix;
  bool built = false;     // false: was there already, or another process built it
  std::string tree_hash;  // 64 hex digits
  std::size_t packages = 0;
  std::size_t fetched = 0;         // archives that were not in the cache
  std::uint64_t fetched_size = 0;  // bytes of them
  std::vector<std::string> notes;  // clobbered paths and the like
};

// What root is told who locks or builds: nothing of a package runs as root.
Error refused_to_root();

std::string format_build_job(const BuildJob& job);
Result<BuildJob> parse_build_job(std::string_view text);
std::string format_build_result(const Result<BuildResult>& result);
Result<BuildResult> parse_build_result(std::string_view text);

// Runs the program as a child that shares our terminal. Errors: the job's own; not_found, os.
Result<BuildResult> build(const std::string& program, const Environment& environment, const BuildJob& job);

// The work itself, in this process: what pinstep-build's main calls. Killing it at any moment leaves the store
// usable. Errors: refused (root; a path too long for a package), no_space, those of the lock, of fetching,
// extracting, planning and executing. (build_prefix.cc)
Result<BuildResult> build_prefix(const BuildJob& job, const Environment& environment);

}  // namespace pinstep
