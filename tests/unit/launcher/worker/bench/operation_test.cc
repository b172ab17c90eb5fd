#include "launcher/worker/bench/operation.h"

#include <gtest/gtest.h>

namespace pinstep::worker {
namespace {

TEST(Operation, BusBandwidthIsThatOfNcclTests) {
  // Its document's formulas: all-reduce 2(n-1)/n, all-gather (n-1)/n, the others 1.
  const struct {
    Operation operation;
    std::uint32_t ranks;
    double factor;
  } cases[] = {
      {Operation::all_reduce, 1, 0},   {Operation::all_reduce, 2, 1},     {Operation::all_reduce, 8, 1.75},
      {Operation::all_gather, 2, 0.5}, {Operation::all_gather, 8, 0.875}, {Operation::broadcast, 8, 1},
      {Operation::send_receive, 8, 1},
  };
  for (const auto& [operation, ranks, factor] : cases)
    EXPECT_DOUBLE_EQ(bus_factor(operation, ranks), factor) << to_string(operation) << " " << ranks;
}

TEST(Operation, NamesAreReadBack) {
  for (const Operation operation : kOperations) EXPECT_EQ(parse_operation(to_string(operation)), operation);
  EXPECT_EQ(parse_operation("reduce"), std::nullopt);
}

TEST(Operation, SizesFitAllRanks) {
  EXPECT_EQ(rounded_bytes(Operation::all_reduce, 8, 3), 8U);
  EXPECT_EQ(rounded_bytes(Operation::all_reduce, 9, 3), 12U);
  EXPECT_EQ(rounded_bytes(Operation::all_gather, 8, 3), 12U);
  EXPECT_EQ(rounded_bytes(Operation::all_gather, 24, 3), 24U);
}

}  // namespace
}  // namespace pinstep::worker
