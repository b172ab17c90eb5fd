#include "envtools/solver/make_lock.h"

#include "tests/unit/support/files.h"
#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing_support::Holds;
using testing_support::TemporaryDirectory;
using testing_support::write_file;

Spec a_spec(std::vector<SpecLine> conda) {
  Spec spec;
  spec.path = "/w/environment.yml";
  spec.channels = {{"here", 1}};
  spec.conda = std::move(conda);
  return spec;
}

LockedPackage a_package(const std::string& name, const std::string& version, const std::string& build = "0") {
  LockedPackage package;
  package.name = name;
  package.version = version;
  package.build = build;
  package.platform = "linux-64";
  package.url = "https://example.org/here/linux-64/" + name + "-" + version + "-" + build + ".conda";
  package.sha256 = content_hash(a_spec({{package.url, 0}}));
  return package;
}

// Solves without a solver: what make_lock() would have written for a spec without dependencies.
Lock lock_of(const Spec& spec, const std::vector<std::string>& platforms = {"linux-64"}) {
  Lock lock;
  lock.platforms = platforms;
  lock.custom["pinstep.spec"] = canonical_text(spec);
  for (const std::string& platform : platforms) {
    lock.content_hash[platform] = content_hash(spec);
    lock.custom["pinstep.profile." + platform] = format_profile(baseline_profile(platform));
  }
  lock.packages = {a_package("xz", "5.2.6")};
  return lock;
}

class CheckLock : public testing::Test {
 protected:
  LockCheck check(const Spec& spec, const LockOptions& asked = {}) {
    const auto result = check_lock(spec, path_, asked);
    EXPECT_TRUE(result) << result.error().cause;
    return result.value_or(LockCheck{});
  }
  void save(const Lock& lock) { ASSERT_THAT(save_lock(lock, path_), testing_support::Succeeds()); }

  const TemporaryDirectory directory_;
  const std::string path_ = directory_ / "environment-lock.yml";
};

TEST_F(CheckLock, NoLockIsNoError) {
  EXPECT_EQ(check(a_spec({})).state, LockState::none);
  EXPECT_FALSE(check(a_spec({})).lock);
}

TEST_F(CheckLock, FitsWhateverTheOrderAndTheName) {
  save(lock_of(a_spec({{"xz", 3}, {"python", 4}})));
  Spec other = a_spec({{"python", 9}, {"xz", 12}});
  other.name = "other";
  EXPECT_EQ(check(other).state, LockState::fits);
  EXPECT_EQ(check(other).lock->packages.size(), 1U);
}

TEST_F(CheckLock, ShowsTheLinesThatChanged) {
  save(lock_of(a_spec({{"xz", 3}, {"python", 4}})));
  Spec spec = a_spec({{"python >=3.11, <4", 3}, {"xz", 4}});
  spec.variables["A"] = "b c";
  const LockCheck result = check(spec);
  EXPECT_EQ(result.state, LockState::changed);
  EXPECT_THAT(result.changes, ElementsAre("- conda python", "+ conda python >=3.11, <4", "+ variable A b c"));
}

TEST_F(CheckLock, TheOrderOfChannelsIsAChange) {
  Spec spec = a_spec({});
  spec.channels = {{"a", 1}, {"b", 2}};
  save(lock_of(spec));
  std::swap(spec.channels[0], spec.channels[1]);
  EXPECT_THAT(check(spec).changes, ElementsAre("the order of channels or of pip's options"));
}

TEST_F(CheckLock, APlatformThatIsNotLockedIsAChange) {
  save(lock_of(a_spec({}), {"linux-64", "linux-aarch64"}));
  LockOptions asked;
  asked.platforms = {"linux-aarch64"};
  EXPECT_EQ(check(a_spec({}), asked).state, LockState::fits);
  asked.platforms = {"linux-64", "linux-ppc64le"};
  EXPECT_THAT(check(a_spec({}), asked).changes, ElementsAre("+ platform linux-ppc64le"));
}

TEST_F(CheckLock, AnotherProfileIsAChangeIfItWasAskedFor) {
  save(lock_of(a_spec({})));
  LockOptions asked;
  asked.usual_profile.everywhere = {{"__cuda", "12.4", ""}};
  EXPECT_EQ(check(a_spec({}), asked).state, LockState::fits);
  asked.profile = Profile{"", {{"__glibc", "2.36", ""}}, {}};
  EXPECT_THAT(check(a_spec({}), asked).changes,
              ElementsAre("- __glibc=2.28 (linux-64)", "+ __glibc=2.36 (linux-64)"));
}

TEST_F(CheckLock, ALockThatIsNotOursCannotBeJudged) {
  Lock lock = lock_of(a_spec({}));
  lock.custom.clear();
  save(lock);
  EXPECT_EQ(check(a_spec({})).state, LockState::changed);
  EXPECT_FALSE(check(a_spec({})).ours);
}

TEST_F(CheckLock, ABrokenLockIsAnError) {
  write_file(path_, "version: 1\n");
  EXPECT_FALSE(check_lock(a_spec({}), path_));
}

TEST_F(CheckLock, SavingReplacesAndLeavesNothingBeside) {
  write_file(path_, "old", 0400);
  save(lock_of(a_spec({})));
  EXPECT_EQ(check(a_spec({})).state, LockState::fits);
  EXPECT_FALSE(save_lock(lock_of(a_spec({})), directory_ / "absent/x-lock.yml"));
}

TEST(PlatformsToLock, AreTheAskedTheSpecsTheLocksOrThisMachines) {
  Spec spec = a_spec({});
  const Lock before = lock_of(spec, {"linux-ppc64le"});
  EXPECT_THAT(platforms_to_lock({}, spec, nullptr), ElementsAre(native_platform()));
  EXPECT_THAT(platforms_to_lock({}, spec, &before), ElementsAre("linux-ppc64le"));
  spec.platforms = {"linux-aarch64"};
  EXPECT_THAT(platforms_to_lock({}, spec, &before), ElementsAre("linux-aarch64"));
  EXPECT_THAT(platforms_to_lock({"linux-64"}, spec, &before), ElementsAre("linux-64"));
}

TEST(PriorityAndCutoff, AreTheAskedTheLocksOrTheUsualOne) {
  Lock before;
  LockOptions options;
  EXPECT_EQ(priority_to_lock(options, nullptr), "flexible");
  EXPECT_EQ(cutoff_to_lock(options, nullptr), "");
  options.usual_priority = "strict";
  EXPECT_EQ(priority_to_lock(options, &before), "strict");
  before.custom = {{"pinstep.channel_priority", "disabled"}, {"pinstep.exclude_newer", "2026-04-01T00:00:00Z"}};
  EXPECT_EQ(priority_to_lock(options, &before), "disabled");
  EXPECT_EQ(cutoff_to_lock(options, &before), "2026-04-01T00:00:00Z");
  options.channel_priority = "flexible";
  options.exclude_newer = "2025-01-01T00:00:00Z";
  EXPECT_EQ(priority_to_lock(options, &before), "flexible");
  EXPECT_EQ(cutoff_to_lock(options, &before), "2025-01-01T00:00:00Z");
  options.exclude_newer = kNoCutoff;
  EXPECT_EQ(cutoff_to_lock(options, &before), "");
}

TEST_F(CheckLock, ShowsAnotherPriorityAndCutoffWhereTheyAreAskedFor) {
  save(lock_of(a_spec({{"xz", 3}})));
  LockOptions asked;
  asked.usual_priority = "strict";
  EXPECT_EQ(check(a_spec({{"xz", 3}}), asked).state, LockState::fits);
  asked.channel_priority = "strict";
  asked.exclude_newer = "2025-01-01T00:00:00Z";
  EXPECT_THAT(check(a_spec({{"xz", 3}}), asked).changes,
              ElementsAre("+ channel priority strict", "+ exclude newer 2025-01-01T00:00:00Z"));
}

TEST(ProfileToLock, IsTheAskedTheLocksOrTheUsualOne) {
  LockOptions options;
  Lock before = lock_of(a_spec({}));
  const auto profile = [&](const Lock* lock) {
    return format_profile(profile_to_lock(options, "linux-64", lock));
  };
  EXPECT_EQ(profile(nullptr), "__archspec=1=x86_64 __glibc=2.28 __linux=4.18 __unix=0");
  options.usual_profile.platforms["linux-64"] = {{"__glibc", "2.31", ""}};
  EXPECT_EQ(profile(nullptr), "__archspec=1=x86_64 __glibc=2.31 __linux=4.18 __unix=0");
  before.custom["pinstep.profile.linux-64"] = "__cuda=12 __unix=0";
  EXPECT_EQ(profile(&before), "__cuda=12 __unix=0");
  options.virtual_packages = {{"__cuda", "11", ""}};
  EXPECT_EQ(profile(&before), "__cuda=11 __unix=0");
  options.profile = Profile{};
  EXPECT_EQ(profile(&before), "__archspec=1=x86_64 __cuda=11 __glibc=2.28 __linux=4.18 __unix=0");
}

}  // namespace
}  // namespace pinstep
