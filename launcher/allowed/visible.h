// CUDA_VISIBLE_DEVICES as the user has set it: which GPUs it means. Pure.
//
// The rules are CUDA's: names are indices among the devices that can be opened, "GPU-" UUIDs or beginnings of
// one that are unique, or MIG instances; reading ends at the first name that means no device, such as -1. Slurm
// writes NoDevFiles for none.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "envtools/base/error.h"

namespace pinstep {

// What is known of a GPU, by which the variable can name it.
struct NamedGpu {
  std::string uuid;                    // "GPU-…"; empty: not known
  std::vector<std::string> instances;  // UUIDs of its MIG instances, "MIG-…"
};

struct VisibleGpus {
  std::vector<std::size_t> gpus;  // in the list's order; the GPU that a MIG instance is part of
  std::string unknown;            // the name at which reading ended; empty: all was read
};

// `gpus` are those of the node, `openable` indices of them in bus order.
VisibleGpus find_visible(std::string_view list, const std::vector<NamedGpu>& gpus,
                         const std::vector<std::size_t>& openable);

// The GPUs of each rank where the user has set the variable: `lists` has what each rank has it as. One list for
// all is dealt out in its order, `each` to a rank; nothing: all to a single rank, else one. Different lists are
// each the rank's own. Errors: invalid (a name that means none of these GPUs, or fewer than the ranks need).
Result<std::vector<std::vector<std::size_t>>> visible_gpus_of_ranks(const std::vector<std::string>& lists,
                                                                    std::optional<std::size_t> each,
                                                                    const std::vector<NamedGpu>& gpus,
                                                                    const std::vector<std::size_t>& openable);

}  // namespace pinstep
