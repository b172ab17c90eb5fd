// Solving is somebody else's craft: a back end is a program that reads a request as JSON on standard input
// and writes the answer as JSON on standard output. It never touches a prefix. Contract: CONTRACT.md.
#pragma once

#include <string>
#include <vector>

#include "envtools/base/environment.h"
#include "envtools/base/error.h"
#include "envtools/channel/channel.h"
#include "envtools/lock/lock.h"
#include "envtools/spec/spec.h"

namespace pinstep {

// "__glibc=2.28", "__cuda=12.4", "__archspec=1=x86_64": what the environment may count on at a node.
struct VirtualPackage {
  std::string name, version, build;

  bool operator==(const VirtualPackage&) const = default;
};
Result<VirtualPackage> parse_virtual_package(std::string_view text);

// The built-in profile of a platform: __unix, __linux=4.18, __glibc=2.28, __archspec=1=…; no __cuda.
std::vector<VirtualPackage> baseline_profile(std::string_view platform);
// A profile file: one virtual package per line, '#' comments. Errors: invalid with "PATH:LINE:".
Result<std::vector<VirtualPackage>> parse_profile(std::string_view text, const std::string& path);

struct SolveRequest {
  std::string platform;
  std::vector<Channel> channels;  // in order of priority
  std::vector<std::string> specs;
  std::vector<VirtualPackage> virtual_packages;
  std::string channel_priority = "flexible";  // as conda's default
  bool offline = false;
};

struct SolveAnswer {
  std::string backend, version;          // "py-rattler", "0.28.0"
  std::vector<LockedPackage> packages;   // manager conda
};

std::string format_solve_request(const SolveRequest& request);
Result<SolveAnswer> parse_solve_answer(std::string_view text, const SolveRequest& request);

}  // namespace pinstep
