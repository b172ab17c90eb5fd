#include "launcher/worker/store/wire.h"

#include "tests/unit/support/random.h"
#include "tests/unit/support/results.h"

namespace pinstep::worker {
namespace {

using namespace std::string_literals;

TEST(Wire, GivesBackMessagesHoweverTheyAreCut) {
  testing_support::Random random;
  for (int run = 0; run < 200; ++run) {
    std::vector<Message> sent(random.below(5));
    std::string bytes;
    for (Message& message : sent) {
      for (std::size_t i = random.below(4); i > 0; --i) message.push_back(random.bytes(0, 50));
      bytes += encode(message);
    }
    std::vector<Message> received;
    std::string pending;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t piece = std::min(random.between(1, 20), bytes.size() - at);
      pending += bytes.substr(at, piece);
      at += piece;
      bool is_broken = false;
      while (auto message = take_message(pending, is_broken)) received.push_back(*message);
      ASSERT_FALSE(is_broken) << random;
    }
    EXPECT_EQ(received, sent) << random;
    EXPECT_EQ(pending, "");
  }
}

TEST(Wire, KnowsWhatCanNeverBecomeAMessage) {
  for (const std::string& bytes :
       {"GET / HTTP/1.1\r\n"s, "\xff\xff\xff\xff"s, "\0\0\0\2ab"s, "\0\0\0\5\0\0\0\2a"s}) {
    std::string pending = bytes;
    bool is_broken = false;
    EXPECT_FALSE(take_message(pending, is_broken)) << testing_support::shown(bytes);
    EXPECT_TRUE(is_broken) << testing_support::shown(bytes);
  }
}

}  // namespace
}  // namespace pinstep::worker
