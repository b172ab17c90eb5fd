#include "launcher/worker/bench/operation.h"

namespace pinstep::worker {

std::string_view to_string(Operation operation) {
  switch (operation) {
    case Operation::all_reduce:
      return "all-reduce";
    case Operation::broadcast:
      return "broadcast";
    case Operation::all_gather:
      return "all-gather";
    case Operation::send_receive:
      return "send-receive";
  }
  return "";
}

std::optional<Operation> parse_operation(std::string_view name) {
  for (const Operation operation : kOperations)
    if (to_string(operation) == name) return operation;
  return std::nullopt;
}

double bus_factor(Operation operation, std::uint32_t ranks) {
  const double others = static_cast<double>(ranks - 1) / ranks;
  switch (operation) {
    case Operation::all_reduce:
      return 2 * others;
    case Operation::all_gather:
      return others;
    case Operation::broadcast:
    case Operation::send_receive:
      return 1;
  }
  return 0;
}

std::size_t rounded_bytes(Operation operation, std::size_t bytes, std::uint32_t ranks) {
  const std::size_t unit = sizeof(float) * (operation == Operation::all_gather ? ranks : 1);
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace pinstep::worker
