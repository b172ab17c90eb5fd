// Solving is somebody else's craft: a back end is a program that reads a request as JSON on standard input
// and writes the answer as JSON on standard output. It never touches a prefix. Contract: CONTRACT.md.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "envtools/base/environment.h"
#include "envtools/base/error.h"
#include "envtools/channel/access.h"
#include "envtools/lock/lock.h"
#include "envtools/profile/profile.h"
#include "envtools/spec/spec.h"

namespace pinstep {

// A package of a lock that is solved anew: stays where it fits.
struct Preferred {
  std::string name, version;
  std::string sha256;  // of the archive

  bool operator==(const Preferred&) const = default;
};

// What both requests say.
struct SolveCommon {
  std::string platform;
  bool offline = false;
  std::string cache;  // absolute; what was fetched
  std::chrono::seconds time_limit{600};
  std::string exclude_newer;  // the cutoff (cutoff.h); empty: none
  std::vector<Preferred> preferred;
  Access access;
};

struct SolveRequest : SolveCommon {
  std::vector<Channel> channels;  // in order of priority
  std::vector<SpecLine> specs;
  std::string path;  // of the spec, for messages
  std::vector<VirtualPackage> virtual_packages;
  std::string channel_priority = "flexible";  // as conda's default
};

struct PipRequest : SolveCommon {
  std::vector<SpecLine> lines, constraints;
  std::string path;                             // of the spec, for messages
  std::string directory;                        // where relative paths in the lines start
  std::string python;                           // version of the conda half's python
  std::string glibc;                            // version of the nodes' C library
  std::map<std::string, std::string> provided;  // distributions of the conda half: name → version
};

struct SolveAnswer {
  std::string backend, version;                // "py-rattler", "0.28.0"
  std::vector<LockedPackage> packages;         // all of one manager, sorted by name
  std::map<std::string, std::string> sources;  // of wheels that were made for this lock: name → what of
};

std::string format_solve_request(const SolveRequest& request);
std::string format_pip_request(const PipRequest& request);

// Errors: what the back end says went wrong (unsatisfiable, network, invalid with "PATH:LINE:", …); corrupt
// where the text breaks the contract.
Result<SolveAnswer> parse_solve_answer(std::string_view text, const SolveRequest& request);
Result<SolveAnswer> parse_pip_answer(std::string_view text, const PipRequest& request);

// The distributions that conda packages bring, by the names of the package index: those that depend on
// python, under their own name or the one that it is known to have.
std::map<std::string, std::string> provided_distributions(const std::vector<LockedPackage>& packages);

// ---- running them

struct SolverPrograms {
  std::string python;   // of the private venv (setup.h)
  std::string scripts;  // directory of solve_conda.py and solve_pip.py
  // What a back end may take beyond its own time limit, to read indexes and to say why nothing fits.
  std::chrono::seconds patience{60};
};

// Each runs its back end and waits for it. Errors: those of parsing the answer; os, where the program cannot
// be started or ends without an answer; timed_out, where it does not heed its time limit.
Result<SolveAnswer> solve_conda(const SolverPrograms& programs, const Environment& environment,
                                const SolveRequest& request);
Result<SolveAnswer> solve_pip(const SolverPrograms& programs, const Environment& environment,
                              const PipRequest& request);

}  // namespace pinstep
