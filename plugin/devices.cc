#include "plugin/devices.h"

#include <unistd.h>

#include <cctype>
#include <optional>
#include <string>

#include "envtools/base/fd.h"
#include "envtools/base/text.h"

namespace pinstep {
namespace {

// "5:devices:/slurm_n0/uid_1000/job_7/step_batch" in /proc/self/cgroup.
std::optional<std::string> devices_cgroup() {
  const std::string groups = read_kernel_file("/proc/self/cgroup");
  for (const std::string_view line : split(groups, '\n')) {
    const auto controllers = split_once(line, ':');
    const auto path = controllers ? split_once(controllers->after, ':') : std::nullopt;
    if (path && path->before == "devices") return std::string(path->after);
  }
  return std::nullopt;
}

// Nothing where there is no such file.
std::optional<bool> configuration_constrains(const Environment& environment) {
  const std::string_view conf = environment.get("SLURM_CONF").value_or("");
  const std::string directory(conf.substr(0, conf.rfind('/')));
  const auto file = read_file(directory + "/cgroup.conf", 64 * 1024, Links::followed);
  if (!file) return std::nullopt;
  bool constrains = false;
  for (const std::string_view line : split(file->text, '\n'))
    if (to_lower(line).starts_with("constraindevices=")) constrains = to_lower(line) == "constraindevices=yes";
  return constrains;
}

bool cgroup_constrains() {
  const auto group = devices_cgroup();
  if (!group) return false;
  const std::string list = read_kernel_file("/sys/fs/cgroup/devices" + *group + "/devices.list");
  return !list.empty() && !list.starts_with("a ");
}

}  // namespace

bool devices_are_constrained(const Environment& environment) {
  return configuration_constrains(environment).value_or(cgroup_constrains());
}

}  // namespace pinstep
