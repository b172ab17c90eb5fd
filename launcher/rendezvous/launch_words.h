// How the command line of pinstep-launch is split, for those who look for the program behind it.
#pragma once

#include <array>
#include <string_view>

namespace pinstep {

// Options whose value may be the next word; launch/options.cc checks that these are all.
inline constexpr std::array<std::string_view, 14> kLaunchOptionsWithValue{
    "--env-spec", "--shape",         "--bind", "--memory", "--system-cores", "--visible", "--gpus-per-rank",
    "--topology", "--nccl-topology", "--nics", "--ranks",  "--gpus",         "--cpus",    "--svg",
};

}  // namespace pinstep
