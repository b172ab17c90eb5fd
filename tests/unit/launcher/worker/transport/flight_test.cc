#include "launcher/worker/transport/flight.h"

#include "envtools/base/text.h"
#include "envtools/json/json.h"
#include "tests/unit/launcher/worker/support/ranks.h"

namespace pinstep::worker {
namespace {

using testing_support::array;
using testing_support::Kind;
using testing_support::Succeeds;

std::vector<Json> lines_of(const FlightRecord& record) {
  std::vector<Json> lines;
  const std::string text = record.lines();
  for (const std::string_view line : split(text, '\n'))
    if (!line.empty()) lines.push_back(Json::parse(line));
  return lines;
}

TEST(FlightRecord, KnowsWhetherTheLastHasEnded) {
  FlightRecord record;
  EXPECT_FALSE(record.is_inside());
  for (const auto end : {FlightRecord::State::done, FlightRecord::State::failed}) {
    record.begin("broadcast", 8);
    EXPECT_TRUE(record.is_inside());
    record.end(end);
    EXPECT_FALSE(record.is_inside());
  }
}

TEST(FlightRecord, KeepsTheLastOfMany) {
  FlightRecord record;
  EXPECT_EQ(record.lines(), "");
  constexpr std::uint64_t kAll = FlightRecord::kKept + 10;
  for (std::uint64_t i = 1; i <= kAll; ++i) {
    record.begin("broadcast", i);
    if (i < kAll) record.end(i % 2 == 0 ? FlightRecord::State::done : FlightRecord::State::failed);
  }
  EXPECT_EQ(record.begun(), kAll);
  const auto lines = lines_of(record);
  ASSERT_EQ(lines.size(), FlightRecord::kKept);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::uint64_t seq = 11 + i;
    EXPECT_EQ(lines[i]["seq"], seq);
    EXPECT_EQ(lines[i]["bytes"], seq);
    EXPECT_EQ(lines[i]["op"], "broadcast");
    EXPECT_EQ(lines[i]["state"], seq == kAll ? "begun" : seq % 2 == 0 ? "done" : "failed");
    EXPECT_GE(lines[i]["seconds"].get<double>(), 0);
    EXPECT_GT(lines[i]["time"].get<double>(), 1.7e9);
  }
}

TEST(RecordedTransport, NotesWhatItDoesAndHandsItOn) {
  auto group = std::make_shared<ThreadGroup>(2, testing_support::kDeadline);
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      CpuDevice device;
      FlightRecord record;
      RecordedTransport transport(std::make_unique<ThreadTransport>(group, rank, device), record);
      std::vector<float> mine{1}, both(2);
      ASSERT_THAT(transport.broadcast(array(mine), 1, {}), Succeeds());
      ASSERT_THAT(transport.all_reduce(array(mine), Reduction::sum, {}), Succeeds());
      ASSERT_THAT(transport.all_gather(array(mine), array(both), {}), Succeeds());
      EXPECT_EQ(both, (std::vector<float>{2, 2}));
      transport.abort();
      EXPECT_FALSE(transport.all_reduce(array(mine), Reduction::sum, {}));
      const auto lines = lines_of(record);
      ASSERT_EQ(lines.size(), 4U);
      const std::vector<std::string> operations{"broadcast", "all-reduce", "all-gather", "all-reduce"};
      for (std::size_t i = 0; i < lines.size(); ++i) {
        EXPECT_EQ(lines[i]["op"], operations[i]);
        EXPECT_EQ(lines[i]["state"], i == 3 ? "failed" : "done");
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace pinstep::worker
