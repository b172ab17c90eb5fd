// Locks that a store keeps: every lock that something was submitted with, and what specs without a lock
// beside them were solved to, so that many submissions of one spec are one solve.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "envtools/base/error.h"
#include "envtools/channel/channel.h"
#include "envtools/lock/lock.h"
#include "envtools/solver/solver.h"
#include "envtools/spec/spec.h"
#include "envtools/store/lease.h"
#include "envtools/store/store.h"

namespace pinstep {

// All that the answer to a spec follows from, apart from what channels offer at the time.
struct SolveInputs {
  const Spec& spec;
  std::vector<std::string> platforms;
  std::vector<VirtualPackage> profile;
  const ChannelConfig& channels;
  std::string channel_priority;
};
// 64 hex digits; order of platforms and profile does not matter.
std::string spec_key(const SolveInputs& inputs);

struct KeptLock {
  std::string path;  // <store>/l/<digest>.yml
  std::string text;
  std::string digest;  // sha256 of the text
};

// Writes the text into the store unless it is there. Errors: refused, no_space, os.
Result<KeptLock> keep_lock(const Store& store, std::string text);

// What a key was solved to in one of the stores; nothing where it was not, where somebody untrusted says so,
// or where the text is gone or is not what its name says.
std::optional<KeptLock> find_solved(const std::vector<Store>& stores, std::string_view key, const Trust& trust);

struct SolvedLock {
  KeptLock lock;
  bool solved = false;  // false: it was there, or another process solved it meanwhile
};
// Of any number of processes that ask at one time, one solves. `on_wait` is called once when waiting for
// another begins. Errors: those of `solve` and of keep_lock().
Result<SolvedLock> solve_once(const std::vector<Store>& stores, const std::string& key, const Trust& trust,
                              const std::function<Result<Lock>()>& solve,
                              const std::function<void(const std::string& holder)>& on_wait);

}  // namespace pinstep
