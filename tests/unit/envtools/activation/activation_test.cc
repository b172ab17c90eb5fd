#include "envtools/activation/activation.h"

#include <unistd.h>

#include <filesystem>

#include "tests/unit/support/clock.h"
#include "tests/unit/support/files.h"
#include "tests/unit/support/random.h"
#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using namespace std::string_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing_support::FailsWith;
using testing_support::FakeClock;
using testing_support::give_to_ordinary_owner;
using testing_support::OrdinaryUser;
using testing_support::Random;
using testing_support::shown;
using testing_support::Succeeds;
using testing_support::TemporaryDirectory;
using testing_support::write_prefix;

const std::string kId(64, 'a');
const std::string kFirstLine = "pinstep-activation 1 -\n";
const std::string kRebuild = "build or repair the environment again";
const std::string kNewer = "the environment was built by a newer pinstep than this node has";

TEST(ActivationParse, GivesIdAndEditsInOrder) {
  const auto activation =
      Activation::parse("pinstep-activation 1 " + kId + "\n" + "set A x y=z\n\0set B \0unset C\0"s +
                            "prepend PATH /p/bin\0append L /l\0remove R /r s\0set BASH_FUNC_m%% () { :; }\0"s,
                        "/f");
  ASSERT_THAT(activation, Succeeds());
  EXPECT_EQ(activation->id(), kId);
  EXPECT_THAT(
      activation->edits(),
      ElementsAre(Edit{EditOp::set, "A", "x y=z\n"}, Edit{EditOp::set, "B", ""}, Edit{EditOp::unset, "C", ""},
                  Edit{EditOp::prepend, "PATH", "/p/bin"}, Edit{EditOp::append, "L", "/l"},
                  Edit{EditOp::remove, "R", "/r s"}, Edit{EditOp::set, "BASH_FUNC_m%%", "() { :; }"}));
}

TEST(ActivationParse, TakesAPrefixThatIsNotPinnedAndHasNoEdits) {
  const auto activation = Activation::parse(kFirstLine, "/f");
  ASSERT_THAT(activation, Succeeds());
  EXPECT_EQ(activation->id(), "-");
  EXPECT_THAT(activation->edits(), IsEmpty());
}

TEST(ActivationParse, KeepsItsTextWhenMoved) {
  auto first = Activation::parse(kFirstLine + "set A 1\0"s, "/f");
  ASSERT_THAT(first, Succeeds());
  const Activation second = std::move(*first);
  *first = Activation::parse(kFirstLine + "set B 2\0"s, "/f").value();
  EXPECT_EQ(second.id(), "-");
  EXPECT_THAT(second.edits(), ElementsAre(Edit{EditOp::set, "A", "1"}));
}

struct Refused {
  std::string content;
  ErrorKind kind;
  std::string cause;
  std::string hint;
};

TEST(ActivationParse, RefusesAFirstLineItDoesNotKnow) {
  const std::string upper(64, 'A');
  const Refused cases[] = {
      {"", ErrorKind::corrupt, "'/f' is not an activation file", kRebuild},
      {"\n", ErrorKind::corrupt, "'/f' is not an activation file", kRebuild},
      {"pinstep-activation\n", ErrorKind::corrupt, "'/f' is not an activation file", kRebuild},
      {"pinstep-activation 1 -", ErrorKind::corrupt, "'/f' is not an activation file", kRebuild},
      {"Pinstep-activation 1 -\n", ErrorKind::corrupt, "'/f' is not an activation file", kRebuild},
      {"#!/bin/sh\nset A 1\0"s, ErrorKind::corrupt, "'/f' is not an activation file", kRebuild},
      {"pinstep-activation 2 -\n", ErrorKind::unsupported, "'/f' has version '2', this pinstep reads 1",
       kNewer},
      {"pinstep-activation 2 - with more\n", ErrorKind::unsupported,
       "'/f' has version '2', this pinstep reads 1", kNewer},
      {"pinstep-activation 1\n", ErrorKind::corrupt, "'/f' has no valid environment id in its first line",
       kRebuild},
      {"pinstep-activation 1 \n", ErrorKind::corrupt, "'/f' has no valid environment id in its first line",
       kRebuild},
      {"pinstep-activation 1 - -\n", ErrorKind::corrupt, "'/f' has no valid environment id in its first line",
       kRebuild},
      {"pinstep-activation 1 -\r\n", ErrorKind::corrupt, "'/f' has no valid environment id in its first line",
       kRebuild},
      {"pinstep-activation 1 " + kId.substr(1) + "\n", ErrorKind::corrupt,
       "'/f' has no valid environment id in its first line", kRebuild},
      {"pinstep-activation 1 " + upper + "\n", ErrorKind::corrupt,
       "'/f' has no valid environment id in its first line", kRebuild},
  };
  for (const Refused& c : cases)
    EXPECT_THAT(Activation::parse(c.content, "/f"), FailsWith(c.kind, c.cause, c.hint)) << shown(c.content);
}

TEST(ActivationParse, RefusesABrokenRecordAndSaysWhich) {
  const std::string broken[] = {
      "set"s,         "set "s,        "set A"s,       "set  1"s,       "set A=B 1"s, "set A\nB 1"s,
      "unset"s,       "unset "s,      "unset A "s,    "unset A 1"s,    "prepend A"s, "prepend A "s,
      "prepend A :"s, "append A a:"s, "append A :a"s, "remove A a:b"s, "remove A "s, "set =A 1"s,
  };
  for (const std::string& record : broken)
    EXPECT_THAT(Activation::parse(kFirstLine + "set OK 1\0"s + record + "\0"s, "/f"),
                FailsWith(ErrorKind::corrupt, "'/f': record 2 is malformed", kRebuild))
        << shown(record);
}

TEST(ActivationParse, RefusesARecordOfAKindItDoesNotKnow) {
  for (const std::string record : {"", "setenv A 1", "SET A 1", " set A 1", "default A 1"})
    EXPECT_THAT(
        Activation::parse(kFirstLine + record + "\0"s, "/f"),
        FailsWith(ErrorKind::unsupported, "'/f': record 1 is of a kind this pinstep does not know", kNewer))
        << shown(record);
}

TEST(ActivationParse, RefusesAFileThatWasCutOffAnywhere) {
  const std::string whole = kFirstLine + "set A 1\0prepend PATH /x\0"s;
  for (std::size_t length = 1; length < whole.size(); ++length) {
    const bool ends_with_a_record = length == kFirstLine.size() || whole[length - 1] == '\0';
    if (ends_with_a_record) continue;  // cannot be told from a shorter file
    const auto activation = Activation::parse(whole.substr(0, length), "/f");
    ASSERT_FALSE(activation) << shown(whole.substr(0, length));
    EXPECT_EQ(activation.error().kind, ErrorKind::corrupt);
  }
  EXPECT_THAT(Activation::parse(kFirstLine + "set A 1\0set B 2"s, "/f"),
              FailsWith(ErrorKind::corrupt, "'/f': record 2 is cut off", kRebuild));
}

TEST(ActivationParse, RefusesMoreRecordsThanATaskCanBeGivenInTime) {
  std::string content = "pinstep-activation 1 -\n";
  for (std::size_t i = 0; i < Activation::kRecordLimit; ++i) content += "unset X" + std::string(1, '\0');
  EXPECT_TRUE(Activation::parse(content, "f").has_value());
  const auto refused = Activation::parse(content + "unset X" + std::string(1, '\0'), "f");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().cause, "'f' has more than 4096 records");
}

TEST(FormatActivation, WritesWhatTheFormatNoteShows) {
  EXPECT_EQ(format_activation("-", {{EditOp::prepend, "PATH", "/p/bin"},
                                    {EditOp::set, "CONDA_PREFIX", "/p"},
                                    {EditOp::unset, "X", ""}}),
            "pinstep-activation 1 -\nprepend PATH /p/bin\0set CONDA_PREFIX /p\0unset X\0"s);
}

TEST(FormatActivation, IsReadBackByParse) {
  Random random;
  constexpr EditOp kOps[] = {EditOp::set, EditOp::unset, EditOp::prepend, EditOp::append, EditOp::remove};
  for (int i = 0; i < 1000; ++i) {
    std::vector<std::string> texts(2 * random.below(12));
    std::vector<Edit> edits;
    for (std::size_t n = 0; n < texts.size(); n += 2) {
      const EditOp op = random.pick(kOps);
      const bool is_list = op == EditOp::prepend || op == EditOp::append || op == EditOp::remove;
      texts[n] = random.text("AB_%()\t\x80", 1, 6);
      texts[n + 1] = random.text(is_list ? "ab= /\n\xff" : "ab= :/\n\xff", is_list ? 1 : 0, 8);
      if (op == EditOp::unset) texts[n + 1].clear();
      edits.push_back({op, texts[n], texts[n + 1]});
    }
    const std::string id = random.one_in(2) ? "-" : random.text("0123456789abcdef", 64, 64);
    const auto activation = Activation::parse(format_activation(id, edits), "/f");
    ASSERT_THAT(activation, Succeeds()) << random;
    EXPECT_EQ(activation->id(), id) << random;
    EXPECT_EQ(activation->edits(), edits) << random;
  }
}

TEST(Trust, CoversTheUserRootAndWhomTheSiteNames) {
  const Trust trust{1000, {3, 4}};
  for (const uid_t owner : {1000u, 0u, 3u, 4u}) EXPECT_TRUE(trust.covers(owner)) << owner;
  for (const uid_t owner : {1u, 1001u, 65534u, 4294967295u}) EXPECT_FALSE(trust.covers(owner)) << owner;
}

// ---- the file ---------------------------------------------------------------------------------------

class LoadActivation : public testing::Test {
 protected:
  auto load(Clock::Milliseconds patience = Clock::Milliseconds(0)) {
    return load_activation(prefix_, trust_, clock_, patience);
  }

  TemporaryDirectory directory_;
  const std::string prefix_ = directory_ / "prefix";
  const std::string path_ = prefix_ + "/conda-meta/pinstep/activation";
  const std::string content_ = kFirstLine + "set A 1\0"s;
  Trust trust_{::geteuid(), {}};
  FakeClock clock_;
};

TEST_F(LoadActivation, ReadsThePrefixsFile) {
  EXPECT_EQ(activation_path(prefix_), path_);
  write_prefix(prefix_, content_);
  const auto activation = load();
  ASSERT_THAT(activation, Succeeds());
  EXPECT_THAT(activation->edits(), ElementsAre(Edit{EditOp::set, "A", "1"}));
}

TEST_F(LoadActivation, NamesTheFileThatIsWrong) {
  write_prefix(prefix_, "something else");
  EXPECT_THAT(load(), FailsWith(ErrorKind::corrupt, "'" + path_ + "' is not an activation file", kRebuild));
}

TEST_F(LoadActivation, TakesAFileOfTheLargestSizeAndNoLarger) {
  std::string text = kFirstLine + "set A ";
  text.append(Activation::kSizeLimit - text.size() - 1, 'x');
  write_prefix(prefix_, text + '\0');
  EXPECT_THAT(load(), Succeeds());
  write_prefix(prefix_, text + "x\0"s);
  EXPECT_THAT(load(), FailsWith(ErrorKind::corrupt, "'" + path_ + "' is longer than 1048576 bytes"));
}

TEST_F(LoadActivation, LooksOnceWithoutPatience) {
  EXPECT_THAT(load(),
              FailsWith(ErrorKind::not_found, "cannot open '" + path_ + "': No such file or directory"));
  EXPECT_THAT(clock_.slept, IsEmpty());
}

TEST_F(LoadActivation, LooksAgainUntilTheFileIsThere) {
  clock_.on_sleep = [&](Clock::Milliseconds now) {
    if (now == Clock::Milliseconds(300)) write_prefix(prefix_, content_);
  };
  EXPECT_THAT(load(Clock::Milliseconds(1000)), Succeeds());
  EXPECT_EQ(clock_.total(), Clock::Milliseconds(300));
}

TEST_F(LoadActivation, LooksALastTimeWhenPatienceIsOver) {
  clock_.on_sleep = [&](Clock::Milliseconds now) {
    if (now >= Clock::Milliseconds(1000)) write_prefix(prefix_, content_);
  };
  EXPECT_THAT(load(Clock::Milliseconds(1000)), Succeeds());
}

TEST_F(LoadActivation, GivesUpWhenPatienceIsOver) {
  EXPECT_THAT(load(Clock::Milliseconds(1000)),
              FailsWith(ErrorKind::not_found, "cannot open '" + path_ + "': No such file or directory"));
  EXPECT_EQ(clock_.total(), Clock::Milliseconds(1000));
}

TEST_F(LoadActivation, IsNotPatientForLongerThanAsked) {
  EXPECT_FALSE(load(Clock::Milliseconds(30)));
  EXPECT_EQ(clock_.total(), Clock::Milliseconds(30));
  clock_.slept.clear();
  EXPECT_FALSE(load(Clock::Milliseconds(250)));
  EXPECT_EQ(clock_.total(), Clock::Milliseconds(250));
}

TEST_F(LoadActivation, DoesNotWaitForWhatWaitingCannotMend) {
  write_prefix(prefix_, "something else");
  EXPECT_FALSE(load(Clock::Milliseconds(1000)));
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  EXPECT_FALSE(load(Clock::Milliseconds(1000)));
  EXPECT_THAT(clock_.slept, IsEmpty());
}

TEST_F(LoadActivation, RefusesTheFileOfAnUntrustedOwner) {
  write_prefix(prefix_, content_);
  uid_t owner = 0;
  if (!give_to_ordinary_owner(path_, owner)) GTEST_SKIP() << "no root";
  trust_.user = owner + 1;
  EXPECT_THAT(load(), FailsWith(ErrorKind::refused,
                                "'" + path_ + "' belongs to user " + std::to_string(owner) +
                                    ", who is neither you nor trusted here",
                                "a site names trusted owners with 'trusted_uids' in pinstep.conf"));
  trust_.also = {owner};
  EXPECT_THAT(load(), Succeeds());
  trust_ = {owner, {}};
  EXPECT_THAT(load(), Succeeds());
}

TEST_F(LoadActivation, ChecksTheOwnerBeforeItReadsAnythingIntoTheContent) {
  write_prefix(prefix_, "something else");
  uid_t owner = 0;
  if (!give_to_ordinary_owner(path_, owner)) GTEST_SKIP() << "no root";
  trust_.user = owner + 1;
  const auto activation = load();
  ASSERT_FALSE(activation);
  EXPECT_EQ(activation.error().kind, ErrorKind::refused);
}

TEST_F(LoadActivation, RefusesASymbolicLinkInPlaceOfTheFile) {
  write_prefix(prefix_, content_);
  std::filesystem::rename(path_, directory_ / "elsewhere");
  std::filesystem::create_symlink(directory_ / "elsewhere", path_);
  EXPECT_THAT(load(),
              FailsWith(ErrorKind::refused, "'" + path_ + "' is a symbolic link, which is not followed here"));
}

TEST_F(LoadActivation, FollowsASymbolicLinkToThePrefix) {
  write_prefix(directory_ / "real", content_);
  std::filesystem::create_directory_symlink("real", prefix_);
  EXPECT_THAT(load(), Succeeds());
}

TEST_F(LoadActivation, SaysThatTheUserMayNotLookIntoThePrefix) {
  write_prefix(prefix_, content_);
  std::filesystem::permissions(prefix_, std::filesystem::perms::none);
  {
    const OrdinaryUser user;
    EXPECT_THAT(load(), FailsWith(ErrorKind::refused, "cannot open '" + path_ + "': Permission denied"));
  }
  std::filesystem::permissions(prefix_, std::filesystem::perms::owner_all);
}

}  // namespace
}  // namespace pinstep
