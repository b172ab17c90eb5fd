// What a rank finds out about its node and its environment. Nothing here is an error: what is not there is not
// known.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "envtools/base/environment.h"

namespace pinstep::verify {

// The release of the kernel.
std::string kernel_release();

// NVIDIA's kernel driver: <sys>/module/nvidia/version, else out of <proc>/driver/nvidia/version. "" without
// one.
std::string driver_version(const std::string& sys, const std::string& proc);

// The version in the first line of /proc/driver/nvidia/version; "" where there is none.
std::string driver_version_in(std::string_view text);

// Files that may be the NCCL of the environment's programs, best first: those that programs and wheels in an
// environment link by their RPATH, which counts before anything else the loader looks at. Those not there are
// left out.
std::vector<std::string> nccl_of_environment(const Environment& environment);

// The version of the NCCL that programs get: of the environment's, else of the loader's (LD_LIBRARY_PATH,
// ld.so's cache). Loads the library and asks it. "" without one.
std::string nccl_version(const Environment& environment);

// NCCL's number as people write it: 22809 is 2.28.9, 2804 is 2.8.4.
std::string nccl_version_text(int number);

}  // namespace pinstep::verify
