#include "envtools/profile/places.h"

#include "tests/unit/support/files.h"
#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing::ElementsAre;
using testing_support::FailsWith;
using testing_support::TemporaryDirectory;
using testing_support::write_file;

TEST(ProfileDirectories, AreTheUsersAndTheSites) {
  const auto directories = [](Environment::Variables variables) {
    return profile_directories(Environment(std::move(variables)));
  };
  EXPECT_THAT(directories({{"HOME", "/h"}}), ElementsAre("/h/.config/pinstep/profiles.d", kSiteProfiles));
  EXPECT_THAT(directories({{"HOME", "/h"}, {"XDG_CONFIG_HOME", "/c"}}),
              ElementsAre("/c/pinstep/profiles.d", kSiteProfiles));
  EXPECT_THAT(directories({{"XDG_CONFIG_HOME", "here"}}), ElementsAre(kSiteProfiles));
}

TEST(ProfileNames, AreNoPaths) {
  for (const char* name : {"gpu", "a100-40", "GPU_2.1", "7"}) EXPECT_TRUE(is_profile_name(name)) << name;
  for (const char* path : {"", ".", "..", "./gpu", "a/b", "gpu.yml", "gpu.yaml", ".gpu", "-x", "a b", "~"})
    EXPECT_FALSE(is_profile_name(path)) << path;
}

class Profiles : public testing::Test {
 protected:
  void SetUp() override {
    write_file(own_ + "/gpu.yml", "__cuda=12.4\n");
    write_file(own_ + "/notes.txt", "not a profile");
    write_file(own_ + "/.hidden.yml", "__cuda=1\n");
    write_file(site_ + "/gpu.yml", "__cuda=11.8\n");
    write_file(site_ + "/cpu.yml", "__glibc=2.34\n");
  }

  const TemporaryDirectory directory_;
  const std::string own_ = directory_ / "own", site_ = directory_ / "site";
  const std::vector<std::string> directories_{directory_ / "absent", own_, site_};
};

TEST_F(Profiles, AreListedByName) {
  EXPECT_THAT(list_profiles(directories_),
              ElementsAre(NamedProfile{"cpu", site_ + "/cpu.yml"}, NamedProfile{"gpu", own_ + "/gpu.yml"}));
}

TEST_F(Profiles, TheUsersComesFirst) {
  const auto gpu = load_profile("gpu", directories_);
  ASSERT_TRUE(gpu) << gpu.error().cause;
  EXPECT_EQ(gpu->name, "gpu");
  EXPECT_EQ(format_profile(gpu->packages("linux-64")), "__cuda=12.4");
  const auto cpu = load_profile("cpu", directories_);
  ASSERT_TRUE(cpu) << cpu.error().cause;
  EXPECT_EQ(format_profile(cpu->packages("linux-64")), "__glibc=2.34");
}

TEST_F(Profiles, APathHasNoName) {
  const auto gpu = load_profile(site_ + "/gpu.yml", directories_);
  ASSERT_TRUE(gpu) << gpu.error().cause;
  EXPECT_EQ(gpu->name, "");
  EXPECT_EQ(format_profile(gpu->packages("linux-64")), "__cuda=11.8");
}

TEST_F(Profiles, AnUnknownNameIsToldWhatThereIs) {
  EXPECT_THAT(load_profile("login", directories_),
              FailsWith(ErrorKind::not_found, "there is no profile 'login'", "there are cpu, gpu"));
  EXPECT_THAT(load_profile("gpus", directories_),
              FailsWith(ErrorKind::not_found, "there is no profile 'gpus'", "did you mean 'gpu'?"));
  EXPECT_THAT(load_profile("gpu", {}),
              FailsWith(ErrorKind::not_found, "there is no profile 'gpu'",
                        "'pinstep profile detect', run on a node, makes one; a file is './gpu'"));
}

TEST_F(Profiles, ABrokenOneIsNotPassedOver) {
  write_file(own_ + "/cpu.yml", "nonsense: 1\n");
  const auto cpu = load_profile("cpu", directories_);
  ASSERT_FALSE(cpu);
  EXPECT_EQ(cpu.error().kind, ErrorKind::invalid);
}

}  // namespace
}  // namespace pinstep
