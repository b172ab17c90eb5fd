#include "envtools/build/artifacts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/unit/support/files.h"

namespace pinstep {
namespace {

using testing::ElementsAre;
using testing_support::TemporaryDirectory;
using testing_support::write_file;

const std::string kSha(64, 'a');
const std::string kTag(16, 'a');

LockedPackage locked(Manager manager, const std::string& url, std::uint64_t size = 0) {
  LockedPackage package;
  package.manager = manager;
  package.name = "x";
  package.url = url;
  package.sha256 = kSha;
  package.size = size;
  return package;
}

const std::string kMain = "https://example.org/main", kLabel = kMain + "/label/dev";

Artifact only(const LockedPackage& package, const ChannelUrls& urls = {}) {
  const auto all = artifacts({package}, urls, Store("/s"));
  if (!all) throw std::runtime_error(all.error().cause);
  return all->front();
}

TEST(Artifacts, HaveTheirPlacesInTheCache) {
  const Artifact conda = only(locked(Manager::conda, "https://example.org/main/linux-64/a-b-1.0-h1_0.conda"));
  EXPECT_EQ(conda.stem, "a-b-1.0-h1_0");
  EXPECT_EQ(conda.archive, "/s/c/archives/" + kTag + "-a-b-1.0-h1_0.conda");
  EXPECT_EQ(conda.directory, "/s/c/pkgs/a-b-1.0-h1_0-" + kTag);
  const Artifact wheel =
      only(locked(Manager::pip, "https://example.org/p/t-1.0%2Bcu1-py3-none-any.whl#sha256=x"));
  EXPECT_EQ(wheel.archive, "/s/c/archives/" + kTag + "-t-1.0+cu1-py3-none-any.whl");
  EXPECT_EQ(wheel.directory, "/s/c/wheels/t-1.0+cu1-py3-none-any-" + kTag);
}

TEST(Artifacts, AreFetchedFromWhereTheChannelIsHereAndAtLastFromTheLocksUrl) {
  const auto urls = [](const std::string& locked_url, const ChannelUrls& channel_urls) {
    return only(locked(Manager::conda, locked_url), channel_urls).urls;
  };
  const std::string file = "/linux-64/a-1-0.conda";
  EXPECT_THAT(urls(kMain + file, {}), ElementsAre(kMain + file));
  EXPECT_THAT(urls(kMain + file, {{kMain, {"file:///c", "https://m.example.org/c"}}}),
              ElementsAre("file:///c" + file, "https://m.example.org/c" + file, kMain + file));
  EXPECT_THAT(urls(kMain + file, {{kMain, {"file:///c", kMain, "file:///d"}}}),
              ElementsAre("file:///c" + file, kMain + file, "file:///d" + file));
  EXPECT_THAT(urls(kLabel + file, {{kMain, {"file:///c"}}, {kLabel, {"file:///l"}}}),
              ElementsAre("file:///l" + file, kLabel + file));
  EXPECT_THAT(urls("https://example.org/mainly" + file, {{kMain, {"file:///c"}}}),
              ElementsAre("https://example.org/mainly" + file));
}

TEST(Artifacts, WithoutDigestOrOfAnotherKindAreRefused) {
  LockedPackage bare = locked(Manager::conda, "https://example.org/main/linux-64/a-1-0.conda");
  bare.sha256.clear();
  for (const LockedPackage& package : {bare, locked(Manager::pip, "https://example.org/x-1.0.tar.gz"),
                                       locked(Manager::pip, "https://example.org/..%2F..%2Fx.whl"),
                                       locked(Manager::conda, "https://example.org/main/linux-64/a.zip")}) {
    const auto all = artifacts({package}, {}, Store("/s"));
    ASSERT_FALSE(all) << package.url;
    EXPECT_EQ(all.error().kind, ErrorKind::invalid) << package.url;
  }
}

TEST(Needs, LeaveOutWhatIsThere) {
  const TemporaryDirectory directory;
  const Store store(directory.path());
  LockedPackage package = locked(Manager::conda, "https://example.org/main/linux-64/a-1-0.conda", 1000);
  const auto needs = [&] { return needs_of(artifacts({package}, {}, store).value()); };
  EXPECT_EQ(needs().archives, 1u);
  EXPECT_EQ(needs().fetch_bytes, 1000u);
  EXPECT_EQ(needs().unpack_bytes, 2000u);
  write_file(store.archives() + "/" + kTag + "-a-1-0.conda", "");
  EXPECT_EQ(needs().archives, 0u);
  EXPECT_EQ(needs().unpack_bytes, 2000u);
  std::filesystem::create_directories(store.packages() + "/a-1-0-" + kTag);
  EXPECT_EQ(needs().unpack_bytes, 0u);
}

TEST(CheckSpace, NamesWhatIsNeededAndWhatIsFree) {
  const TemporaryDirectory directory;
  EXPECT_TRUE(check_space(directory.path(), 1, 1));
  const auto checked = check_space(directory.path(), std::uint64_t{1} << 60, 0);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().kind, ErrorKind::no_space);
  EXPECT_NE(checked.error().cause.find("needs at least 1152922 TB"), std::string::npos)
      << checked.error().cause;
}

}  // namespace
}  // namespace pinstep
