// From a spec to its lock, and what a lock that lies beside a spec is worth.
//
// What make_lock() writes into custom_metadata, besides what lock.h says:
//
//   pinstep.spec                canonical text of the spec, so that a later change can be shown
//   pinstep.input.<file>        sha256 of a file that the pip list names by -r or -c
//   pinstep.source.<name>       what a wheel was made of while locking: "git+https://…@<commit>"
//   pinstep.solver              "py-rattler 0.28.0, uv 0.13.9"
//   pinstep.channel_priority    "flexible"
//   pinstep.exclude_newer       "2026-04-01T00:00:00Z", where newer packages did not count
//   pinstep.profile             name of the profile, if it has one: "gpu"
//   pinstep.profile.<platform>  the virtual packages: "__glibc=2.28 __unix=0"
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "envtools/solver/solver.h"

namespace pinstep {

// What may move of a lock that is solved anew. Everything else keeps its version where that fits.
struct Update {
  bool all = false;
  std::vector<std::string> names;  // packages, as a spec names them
};

inline constexpr std::string_view kNoCutoff = "none";

struct LockOptions {
  std::vector<std::string> platforms;            // empty: see platforms_to_lock()
  std::optional<Profile> profile;                // asked for; over the baseline
  Profile usual_profile;                         // where none was asked for; over the baseline
  std::vector<VirtualPackage> virtual_packages;  // asked for; over the profile
  std::string channel_priority;                  // asked for: strict, flexible, disabled
  std::string usual_priority = "flexible";       // where none was asked for; as conda's default
  std::string exclude_newer;                     // asked for: a cutoff (cutoff.h), or kNoCutoff
  Update update;
  ChannelConfig channels;
  bool offline = false;
  std::chrono::seconds time_limit{600};  // for one platform's conda part, and as much for its pip part
  std::string cache;                     // absolute
  SolverPrograms programs;
  Environment environment;
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

// The platforms asked for, else the spec's, else those of the lock there is, else this machine's.
std::vector<std::string> platforms_to_lock(const std::vector<std::string>& asked, const Spec& spec,
                                           const Lock* before);

// The profile of a platform: the one asked for, else what the lock there is was solved with, else the usual
// one; over it the virtual packages asked for.
std::vector<VirtualPackage> profile_to_lock(const LockOptions& options, std::string_view platform,
                                            const Lock* before);

// The priority of channels: the one asked for, else what the lock there is was solved with, else the usual one.
std::string priority_to_lock(const LockOptions& options, const Lock* before);

// Likewise the cutoff; empty where all packages count.
std::string cutoff_to_lock(const LockOptions& options, const Lock* before);

// Errors: usage, listing the three.
Result<void> check_channel_priority(std::string_view priority);

// Solves a spec. `before` is the lock it replaces, if any: what it was made for stays. Where that is so, and
// only the spec has changed, versions that options.update does not name stay too. Errors: invalid with
// "PATH:LINE:", usage (a package to update that `before` does not have), those of solving, conflict (a pip list
// without python).
Result<Lock> make_lock(const Spec& spec, const LockOptions& options, const Lock* before);

// ---- the lock beside a spec

// The lock's content hash for a spec: the same for all platforms.
std::string content_hash(const Spec& spec);

enum class LockState { none, fits, changed };

struct LockCheck {
  LockState state = LockState::none;
  bool ours = true;          // false: another program made it
  std::optional<Lock> lock;  // unless none
  std::string text;          // the lock's file
  // What the lock does not know: "+ conda numpy>=2", "+ platform linux-64".
  std::vector<std::string> changes;
};

// Whether the lock at `path` fits a spec, and the platforms and the profile asked for. A lock that pinstep has
// not made records no spec: it counts as changed, with that as its one change. Errors: those of load_lock().
Result<LockCheck> check_lock(const Spec& spec, const std::string& path, const LockOptions& asked = {});

// Replaces the file by one rename. Errors: refused, no_space, os.
Result<void> save_lock(const Lock& lock, const std::string& path);

}  // namespace pinstep
