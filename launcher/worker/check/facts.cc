#include "launcher/worker/check/facts.h"

#include <dlfcn.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "envtools/base/fd.h"
#include "envtools/base/text.h"
#include "envtools/base/variables.h"
#include "pinstep_config.h"

namespace pinstep::worker {
namespace {

// The text after `key`, up to the end of its line.
std::string_view after(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = text.substr(at + key.size());
  return trim(rest.substr(0, rest.find('\n')));
}

std::uint64_t number_in(const std::string& file) {
  return parse_number<std::uint64_t>(trim(read_kernel_file(file))).value_or(0);
}

// What the cgroup still allows; nothing without a limit. v1 writes none as a very large number.
std::optional<std::uint64_t> left_in(const std::string& directory, const char* limit, const char* usage) {
  const std::uint64_t most = number_in(directory + "/" + limit), used = number_in(directory + "/" + usage);
  if (most == 0 || most > (std::uint64_t{1} << 60)) return std::nullopt;
  return most > used ? most - used : 0;
}

std::string gpu_models() {
  std::vector<std::string> models;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/driver/nvidia/gpus", ignored))
    models.emplace_back(after(read_kernel_file(entry.path().string() + "/information"), "Model:"));
  return counted(models);
}

// As a program of this environment would find it.
std::string nccl_of(const Environment& environment) {
  void* library = ::dlopen("libnccl.so.2", RTLD_LAZY | RTLD_LOCAL);
  if (const auto prefix = environment.get("CONDA_PREFIX"); library == nullptr && prefix)
    library = ::dlopen((std::string(*prefix) + "/lib/libnccl.so.2").c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return "";
  using GetVersion = int (*)(int*);
  const auto get = reinterpret_cast<GetVersion>(::dlsym(library, "ncclGetVersion"));
  int code = 0;
  return get != nullptr && get(&code) == 0 ? nccl_version(code) : "";
}

std::uint64_t free_shm() {
  struct statvfs info {};
  if (::statvfs("/dev/shm", &info) != 0) return 0;
  return std::uint64_t{info.f_bavail} * info.f_frsize;
}

std::uint64_t open_files() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

}  // namespace

std::uint64_t available_of(std::string_view meminfo) {
  std::string_view kib = after(meminfo, "MemAvailable:");
  if (kib.ends_with(" kB")) kib.remove_suffix(3);
  return parse_number<std::uint64_t>(trim(kib)).value_or(0) * 1024;
}

// "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build …": the first word of
// numbers with dots.
std::string driver_of(std::string_view version) {
  for (const std::string_view word : split(after(version, "NVRM version:"), ' '))
    if (word.find('.') != std::string_view::npos &&
        word.find_first_not_of("0123456789.") == std::string_view::npos)
      return std::string(word);
  return "";
}

std::string counted(const std::vector<std::string>& names) {
  std::map<std::string, int> counts;
  for (const std::string& name : names) ++counts[name];
  std::string text;
  for (const auto& [name, count] : counts)
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " x " + printable(name);
  return text;
}

// From 2.9 on MAJOR · 10000 + MINOR · 100 + PATCH, before that MAJOR · 1000.
std::string nccl_version(int code) {
  const int unit = code >= 10000 ? 10000 : 1000;
  return std::to_string(code / unit) + "." + std::to_string(code % unit / 100) + "." +
         std::to_string(code % 100);
}

std::string memory_cgroup_of(std::string_view proc_self_cgroup) {
  for (const std::string_view line : split(proc_self_cgroup, '\n')) {
    const auto parts = split(line, ':');
    if (parts.size() < 3) continue;
    const auto controllers = split(parts[1], ',');
    if (std::find(controllers.begin(), controllers.end(), "memory") != controllers.end())
      return "/memory" + std::string(parts[2]);
    if (parts[0] == "0" && parts[1].empty()) return std::string(parts[2]);
  }
  return "";
}

std::uint64_t available_memory() {
  std::uint64_t least = available_of(read_kernel_file("/proc/meminfo"));
  // A limit may be set on any of the directories above, too.
  for (std::string own = memory_cgroup_of(read_kernel_file("/proc/self/cgroup")); own.size() > 1;
       own = own.substr(0, own.rfind('/'))) {
    const std::string directory = "/sys/fs/cgroup" + own;
    for (const auto& left : {left_in(directory, "memory.max", "memory.current"),
                             left_in(directory, "memory.limit_in_bytes", "memory.usage_in_bytes")})
      if (left) least = std::min(least, *left);
  }
  return least;
}

Facts look_at_node(const Environment& environment) {
  Facts facts;
  facts.gpus = gpu_models();
  facts.driver = driver_of(read_kernel_file("/proc/driver/nvidia/version"));
  facts.nccl = nccl_of(environment);
  facts.environment = environment.get(variable::kStepEnv).value_or("");
  facts.version = PINSTEP_VERSION;
  facts.memory = available_memory();
  facts.shm = free_shm();
  facts.open_files = open_files();
  return facts;
}

}  // namespace pinstep::worker
