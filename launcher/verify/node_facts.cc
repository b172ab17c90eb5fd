#include "launcher/verify/node_facts.h"

#include <dlfcn.h>
#include <glob.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "envtools/base/fd.h"
#include "envtools/base/text.h"
#include "envtools/base/variables.h"

namespace pinstep::verify {
namespace {

constexpr const char* kNccl = "libnccl.so.2";

// "535.104.05": digits and dots, with a dot between digits.
bool is_version(std::string_view word) {
  bool has_dot = false;
  for (const char c : word) {
    if (c == '.') has_dot = true;
    if (c != '.' && (c < '0' || c > '9')) return false;
  }
  return has_dot && word.front() != '.' && word.back() != '.';
}

void add_matches(const std::string& pattern, std::vector<std::string>& paths) {
  glob_t found{};
  if (::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found) == 0)
    for (std::size_t i = 0; i < found.gl_pathc; ++i) paths.emplace_back(found.gl_pathv[i]);
  ::globfree(&found);
}

// The prefix's name as a pattern that matches nothing else.
std::string literal(std::string_view path) {
  std::string pattern;
  for (const char c : path) {
    if (std::string_view("*?[\\").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

// Of the library at `path`, or that the loader finds by its name.
std::string version_of_library(const char* path) {
  void* library = ::dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return "";
  // Never closed: what it has started in its constructors may not expect to be.
  const auto ask = reinterpret_cast<int (*)(int*)>(::dlsym(library, "ncclGetVersion"));
  int number = 0;
  return ask != nullptr && ask(&number) == 0 ? nccl_version_text(number) : "";
}

}  // namespace

std::string kernel_release() {
  utsname names{};
  return ::uname(&names) == 0 ? names.release : "";
}

std::string driver_version_in(std::string_view text) {
  for (const std::string_view word : split(text.substr(0, text.find('\n')), ' '))
    if (!word.empty() && is_version(word)) return std::string(word);
  return "";
}

std::string driver_version(const std::string& sys, const std::string& proc) {
  const std::string version(trim(read_kernel_file(sys + "/module/nvidia/version")));
  return version.empty() ? driver_version_in(read_kernel_file(proc + "/driver/nvidia/version")) : version;
}

std::vector<std::string> nccl_of_environment(const Environment& environment) {
  std::vector<std::string> paths;
  for (const std::string_view name : {std::string_view("CONDA_PREFIX"), std::string_view("VIRTUAL_ENV")}) {
    const std::string_view prefix = environment.get(name).value_or("");
    if (!prefix.starts_with('/')) continue;
    const std::string lib = literal(prefix) + "/lib/";
    add_matches(lib + kNccl, paths);
    add_matches(lib + "python3*/site-packages/nvidia/nccl/lib/" + kNccl, paths);
  }
  return paths;
}

std::string nccl_version(const Environment& environment) {
  for (const std::string& path : nccl_of_environment(environment))
    if (std::string version = version_of_library(path.c_str()); !version.empty()) return version;
  return version_of_library(kNccl);
}

// nccl.h, NCCL_VERSION: the number has a digit more since 2.9.
std::string nccl_version_text(int number) {
  const int major = number < 10000 ? number / 1000 : number / 10000;
  const int minor = number < 10000 ? number / 100 % 10 : number / 100 % 100;
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(number % 100);
}

}  // namespace pinstep::verify
