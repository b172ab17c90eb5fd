#include "envtools/pin/resolve.h"

#include <unistd.h>

#include <filesystem>

#include "tests/unit/support/files.h"
#include "tests/unit/support/pins.h"
#include "tests/unit/support/results.h"

namespace pinstep {

namespace {

using testing_support::FailsWith;
using testing_support::give_to_ordinary_owner;
using testing_support::Holds;
using testing_support::OrdinaryUser;
using testing_support::Succeeds;
using testing_support::TemporaryDirectory;
using testing_support::write_file;
using testing_support::write_prefix;

const std::string kActivation = "pinstep-activation 1 -\n";

class Resolve : public testing::Test {
 protected:
  Resolve() { write_prefix(at("env"), kActivation); }

  std::string at(std::string_view name) const { return directory_ / name; }
  Result<std::optional<Pin>> resolved(const std::string& env) {
    return resolve({env, directory_.path(), trust_, {}, Shape::automatic, false});
  }
  // The prefix that `env` leads to, or the error's words.
  std::string prefix_of(const std::string& env) {
    const auto pin = resolved(env);
    if (!pin) return pin.error().cause;
    return *pin ? (*pin)->prefixes.at(0).prefix : "none";
  }

  TemporaryDirectory directory_;
  Trust trust_{::geteuid(), {}};
};

TEST_F(Resolve, GivesNoPinForNone) { EXPECT_THAT(resolved("none"), Holds(std::nullopt)); }

TEST_F(Resolve, MakesAForeignPinOfAPrefix) {
  Policies policies;
  policies.user_site = Policies::UserSite::keep;
  const auto pin = resolve({at("env"), "/", trust_, policies, Shape::spawn, true});
  ASSERT_THAT(pin, Succeeds());
  ASSERT_TRUE(*pin);
  Pin expected;
  expected.kind = Pin::Kind::foreign;
  expected.token = (*pin)->token;
  expected.shape = Shape::spawn;
  expected.gpu_share = true;
  expected.policies = policies;
  expected.prefixes = {{std::string(own_platform()), "-", at("env")}};
  EXPECT_EQ(**pin, expected);
  EXPECT_THAT(Pin::parse((*pin)->text()), Holds(expected));
}

TEST_F(Resolve, GivesEachPinATokenOfItsOwn) {
  EXPECT_NE((*resolved("./env"))->token, (*resolved("./env"))->token);
}

TEST_F(Resolve, MakesThePathAbsoluteFromTheGivenDirectory) {
  write_prefix(at("a b/env"), kActivation);
  std::filesystem::create_directory_symlink("env", at("alias"));
  std::filesystem::create_directory_symlink("a b", at("other"));
  struct Case {
    std::string env, prefix;
  };
  for (const Case& c :
       {Case{"./env", at("env")}, Case{"./env/", at("env")}, Case{".//env//", at("env")},
        Case{"././env/.", at("env")}, Case{"a b/env", at("a b/env")}, Case{at("env"), at("env")},
        Case{at("env") + "/", at("env")}, Case{"./alias", at("alias")},  // an automounter's name stays
        Case{"other/env", at("other/env")},
        Case{"other/../env", at("env")},  // ".." counts from where the link leads
        Case{"a b/../env", at("env")}})
    EXPECT_EQ(prefix_of(c.env), c.prefix) << c.env;
}

TEST_F(Resolve, FollowsTheLinkBeforeDotDot) {
  write_prefix(at("deep/er/env"), kActivation);
  write_prefix(at("deep/env"), kActivation);
  std::filesystem::create_directory_symlink("deep/er", at("link"));
  EXPECT_EQ(prefix_of("link/../env"), at("deep/env"));
}

TEST_F(Resolve, RefusesWhatIsNoPath) {
  EXPECT_THAT(resolved("env"), FailsWith(ErrorKind::invalid, "'env' is not a path to an environment",
                                         "name a directory with a '/' in it, such as './env', or 'none'"));
  EXPECT_FALSE(resolved(""));
}

TEST_F(Resolve, SaysThatThereIsNoDirectory) {
  constexpr auto kHint = "is the path right? a relative one starts in the working directory";
  EXPECT_THAT(
      resolved("./absent"),
      FailsWith(ErrorKind::not_found, "cannot find '" + at("absent") + "': No such file or directory", kHint));
  EXPECT_THAT(resolved("absent/../env"),
              FailsWith(ErrorKind::not_found, "cannot find 'absent/../env': No such file or directory", kHint));
}

TEST_F(Resolve, RefusesAFile) {
  write_file(at("file"), "");
  EXPECT_THAT(resolved("./file"),
              FailsWith(ErrorKind::invalid, "'" + at("file") + "' is a file, and an environment is a directory",
                        "name the directory of a prefix that holds conda-meta/pinstep/activation"));
}

TEST_F(Resolve, RefusesADirectoryWithoutActivationFile) {
  std::filesystem::create_directories(at("plain"));
  EXPECT_THAT(resolved("./plain"),
              FailsWith(ErrorKind::not_found,
                        "'" + at("plain") +
                            "' is not a prefix made for pinstep: it has no conda-meta/pinstep/activation",
                        "pinstep(8) shows how to write one for a prefix made by hand"));
}

TEST_F(Resolve, RefusesAPrefixThatCouldNotBeUsed) {
  write_prefix(at("env"), "not an activation");
  const auto pin = resolved("./env");
  ASSERT_FALSE(pin);
  EXPECT_EQ(pin.error().kind, ErrorKind::corrupt);
}

TEST_F(Resolve, RefusesAnUntrustedOwner) {
  uid_t owner = 0;
  if (!give_to_ordinary_owner(at("env/conda-meta/pinstep/activation"), owner)) GTEST_SKIP() << "no root";
  trust_.user = owner + 1;
  const auto pin = resolved("./env");
  ASSERT_FALSE(pin);
  EXPECT_EQ(pin.error().kind, ErrorKind::refused);
}

TEST_F(Resolve, SaysThatTheUserMayNotLookThere) {
  std::filesystem::permissions(at("env"), std::filesystem::perms::none);
  {
    const OrdinaryUser user;
    const auto pin = resolved("./env");
    ASSERT_FALSE(pin);
    EXPECT_EQ(pin.error().kind, ErrorKind::refused);
  }
  std::filesystem::permissions(at("env"), std::filesystem::perms::owner_all);
}

TEST_F(Resolve, RefusesAPathThatIsTooLongToTravel) {
  // Escaped, each of these bytes takes three; the path itself is one the system takes.
  std::string name = "d";
  for (int i = 0; i < 8; ++i) name += "/" + std::string(200, '\x80');
  write_prefix(at(name), kActivation);
  const auto pin = resolved("./" + name);
  ASSERT_FALSE(pin);
  EXPECT_EQ(pin.error().kind, ErrorKind::invalid);
  EXPECT_EQ(pin.error().hint, "move the prefix to a shorter path");
}

}  // namespace
}  // namespace pinstep
