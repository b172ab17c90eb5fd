#include "launcher/worker/check/report.h"

#include <gtest/gtest.h>

namespace pinstep::worker {
namespace {

TEST(RankReport, IsReadBack) {
  RankReport report{3, 2, "n1", {"4 x G", "570.1", "2.28.9", "env", "0.2.0", 1UL << 40, 2, 3}, Skew{-0.25, 0.5},
                    {}};
  report.links = {{1, "", 0.5, 1e9}, {2, "no \"route\"", 0, 0}};
  EXPECT_EQ(read_rank_report(dump_json(json_of(report))), report);
  report.skew.reset();
  EXPECT_EQ(read_rank_report(dump_json(json_of(report))), report);
}

TEST(RankReport, WhatIsNoneIsNothing) {
  for (const char* text : {"", "7", "[]", "{}", R"({"rank":"x"})", "{\"rank\":1"})
    EXPECT_EQ(read_rank_report(text), std::nullopt) << text;
}

}  // namespace
}  // namespace pinstep::worker
