// The operations that are measured, and the two bandwidths of each as nccl-tests defines them
// (doc/PERFORMANCE.md there): algorithm bandwidth is size over time; bus bandwidth multiplies it by what the
// operation must carry over the slowest link for each byte of its size, so that it can be compared with that
// link's speed whatever the number of ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace pinstep::worker {

enum class Operation { all_reduce, broadcast, all_gather, send_receive };

inline constexpr Operation kOperations[] = {Operation::all_reduce, Operation::broadcast, Operation::all_gather,
                                            Operation::send_receive};

std::string_view to_string(Operation operation);  // "all-reduce"
std::optional<Operation> parse_operation(std::string_view name);

// The size of an operation is the bytes of what each rank has at its end: of an all-gather all ranks' parts
// together, of a send and receive in a ring what each sends and receives.
double bus_factor(Operation operation, std::uint32_t ranks);

// `bytes` rounded up so that every rank's part has as many f32 elements.
std::size_t rounded_bytes(Operation operation, std::size_t bytes, std::uint32_t ranks);

}  // namespace pinstep::worker
