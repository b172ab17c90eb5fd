// Where the ranks of a step on one node share their map: a directory that only this user can reach.
//
//   <top>/<cluster>.<job>.<step>.<het>/rank.<i>   what rank i knows of its GPUs
//   <top>/<cluster>.<job>.<step>.<het>/map        the map below a header line, or why there is none
//   <top>/<cluster>.<job>.<step>.<het>/nccl.xml   the node for NCCL_TOPO_FILE, if that was asked for
//   <top>/<cluster>.<job>.<step>.<het>/said.…     that a rank has said it for all
// (".<n>" at the end where the job was requeued n times)
//
// <top> is /dev/shm/pinstep-<uid>, else /tmp/pinstep-<uid>. The rank that makes the step's directory makes the
// map; the others wait for it. Files appear whole, by rename.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "envtools/base/clock.h"
#include "envtools/base/error.h"

namespace pinstep {

// The first of these directories that is there, or can be made, is this user's alone and has room for a map.
// All modes in it are set, whatever the umask is. Errors: refused, os.
Result<std::string> user_directory(const std::vector<std::string>& parents, uid_t uid);

class StepDirectory {
 public:
  // `inputs` is what the map depends on besides the step: a map made from other inputs counts as absent.
  // Errors: os and others of mkdir(2).
  static Result<StepDirectory> enter(const std::string& top, const std::string& step,
                                     const std::string& inputs);

  const std::string& path() const { return path_; }
  bool is_first() const { return is_first_; }

  Result<void> report(std::uint32_t rank, std::string_view text) const;
  // The reports of all ranks. Errors: timed_out.
  Result<std::vector<std::string>> reports(std::uint32_t ranks, Clock& clock,
                                           Clock::Milliseconds patience) const;

  Result<void> publish(std::string_view map) const;
  // The map, nothing where there is none with these inputs.
  std::optional<std::string> find() const;
  std::optional<std::string> wait(Clock& clock, Clock::Milliseconds patience) const;

  // True for the first rank that asks for it, so that one rank says what all of them find. Nothing where that
  // cannot be found out.
  std::optional<bool> claim(std::string_view what) const;

 private:
  StepDirectory(std::string path, std::string header, bool is_first)
      : path_(std::move(path)), header_(std::move(header)), is_first_(is_first) {}

  std::string path_;
  std::string header_;
  bool is_first_;
};

// Removes what steps left whose first rank has ended, and what is of another boot. Never fails.
void remove_stale(const std::string& top, const std::string& boot);

// The kernel's id of this boot.
std::string boot_id();

}  // namespace pinstep
