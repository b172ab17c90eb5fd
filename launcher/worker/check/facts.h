// Looks at this node.
#pragma once

#include <string>

#include "envtools/base/environment.h"
#include "launcher/worker/check/report.h"

namespace pinstep::worker {

// Nothing here fails: what cannot be found out is "" or 0.
Facts look_at_node(const Environment& environment);

// Bytes that processes of this job may still have: of the node, or of its cgroup where that has a limit.
std::uint64_t available_memory();

// The pure parts, on the texts of the kernel's files.
std::uint64_t available_of(std::string_view meminfo);        // /proc/meminfo
std::string driver_of(std::string_view version);             // /proc/driver/nvidia/version
std::string counted(const std::vector<std::string>& names);  // "4 x A, B"
std::string nccl_version(int code);                          // 22809: "2.28.9"
// The memory cgroup's directory below /sys/fs/cgroup, of /proc/self/cgroup; v1 has its own mount.
std::string memory_cgroup_of(std::string_view proc_self_cgroup);

}  // namespace pinstep::worker
