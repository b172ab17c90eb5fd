#include "launcher/worker/checkpoint/checkpoint.h"

#include <algorithm>

#include "envtools/hash/hash.h"
#include "tests/unit/support/results.h"

namespace pinstep::worker {
namespace {

using testing_support::FailsWith;
using testing_support::Holds;

Checkpoint some() {
  Checkpoint checkpoint{{2, 640, 1940}, 4, {{"seed", "1"}, {"model", "mlp \"784\""}}, {}, {}};
  checkpoint.add("a", Type::f32, {2, 3}, std::string(24, '\x01'));
  checkpoint.add("empty", Type::i64, {0}, "");
  checkpoint.add("one", Type::u8, {}, "x");
  return checkpoint;
}

std::string file_of(const Checkpoint& checkpoint) { return head_of(checkpoint) + checkpoint.data; }

// A file with this head and data whose length and checksum are right, whatever else is not.
std::string signed_file(std::string head, const std::string& data) {
  const std::size_t at = head.find("DIGEST");
  std::string length(8, '\0');
  const std::size_t size = head.size() - 6 + 64;
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(size >> 8 * i & 0xff);
  const std::string zeros = head.replace(at, 6, std::string(64, '0'));
  return length + head.replace(at, 64, sha256_hex(length + zeros + data)) + data;
}

std::string head_with(const std::string& arrays, const std::string& version = "1",
                      const std::string& epoch = "1") {
  return R"({"__metadata__":{"format":"pinstep-checkpoint )" + version + R"(","sha256":"DIGEST","epoch":")" +
         epoch + R"(","consumed":"0","steps":"0","ranks":"1"})" + arrays + "}";
}

TEST(Checkpoint, IsReadAsItWasWritten) {
  const auto read = parse_checkpoint(file_of(some()), "f");
  ASSERT_TRUE(read) << read.error().cause;
  EXPECT_EQ(*read, some());
  EXPECT_EQ(read->bytes_of(*read->find("one")), "x");
  EXPECT_EQ(read->find("two"), nullptr);
}

TEST(Checkpoint, BeginsWithItsHeadsLengthAndAlignsItsData) {
  const std::string head = head_of(some());
  EXPECT_EQ(head.size() % 8, 0U);
  EXPECT_EQ(static_cast<unsigned char>(head[0]) + 256U * static_cast<unsigned char>(head[1]), head.size() - 8);
  EXPECT_TRUE(head.substr(8).starts_with(R"({"__metadata__":{"format":"pinstep-checkpoint 1","sha256":")"));
}

TEST(Checkpoint, EveryByteThatChangesOrIsMissingIsNoticed) {
  const std::string whole = file_of(some());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_FALSE(parse_checkpoint(changed, "f")) << i;
    EXPECT_FALSE(parse_checkpoint(whole.substr(0, i), "f")) << i;
  }
  EXPECT_FALSE(parse_checkpoint(whole + "x", "f"));
}

struct Bad {
  const char* arrays;
  const char* why;
};
class BadHead : public testing::TestWithParam<Bad> {};

TEST_P(BadHead, IsDamagedThoughItsChecksumIsRight) {
  EXPECT_THAT(parse_checkpoint(signed_file(head_with(GetParam().arrays), std::string(8, 'x')), "f"),
              FailsWith(ErrorKind::corrupt, "checkpoint 'f' is damaged: " + std::string(GetParam().why)));
}

INSTANTIATE_TEST_SUITE_P(
    Checkpoint, BadHead,
    testing::Values(
        Bad{"", "it has 8 bytes of data, not 0"}, Bad{R"(,"a":5)", "what it says of 'a' cannot be read"},
        Bad{R"(,"a":{"dtype":"F16","shape":[4],"data_offsets":[0,8]})", "what it says of 'a' cannot be read"},
        Bad{R"(,"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]})", "what it says of 'a' cannot be read"},
        Bad{R"(,"a":{"dtype":"F32","shape":[2],"data_offsets":[0]})", "what it says of 'a' cannot be read"},
        Bad{R"(,"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]})", "'a' has another size than it says"},
        Bad{R"(,"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]})", "'a' has another size than it says"},
        Bad{R"(,"a":{"dtype":"F32","shape":[1],"data_offsets":[0,18446744073709551612]})",
            "'a' has another size than it says"},
        Bad{R"(,"a":{"dtype":"F32","shape":[4611686018427387905,4],"data_offsets":[0,16]})",
            "'a' has another size than it says"},
        Bad{R"(,"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})", "it has 8 bytes of data, not 4"},
        Bad{R"(,"__metadata__":7)", "'epoch' is no number"}));

TEST(Checkpoint, NumbersMustBePossible) {
  EXPECT_THAT(parse_checkpoint(signed_file(head_with("", "1", "0"), ""), "f"),
              FailsWith(ErrorKind::corrupt, "checkpoint 'f' is damaged: a number is 0"));
}

TEST(Checkpoint, ALaterVersionIsLeftAlone) {
  EXPECT_THAT(parse_checkpoint(signed_file(head_with("", "2"), ""), "f"),
              FailsWith(ErrorKind::unsupported, "checkpoint 'f' was written by another version of pinstep",
                        "continue with that version, or begin anew in another directory"));
}

}  // namespace
}  // namespace pinstep::worker
