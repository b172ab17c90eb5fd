#include "envtools/store/store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "envtools/base/fd.h"
#include "envtools/store/records.h"
#include "tests/unit/support/files.h"

namespace pinstep {
namespace {

using testing_support::TemporaryDirectory;
using testing_support::write_file;

const std::string kId(64, 'a');
const Trust kMe{::getuid(), {}};

Environment with(Environment::Variables variables) { return Environment(std::move(variables)); }

mode_t mode_of(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 07777;
}

// A prefix as a build leaves it, as far as the store looks at it.
void publish(const Store& store, const std::string& id, const std::string& name = "") {
  write_file(id_file(store.prefix(id)), id + "\n");
  write_file(origin_file(store.prefix(id)), format_origin({name, "-", "linux-64", 17, 3, 1000}));
}

struct Place {
  const char* what;
  Environment::Variables variables;
  const char* configured;
  std::vector<std::string> expected;  // none: an error
};

TEST(StorePlace, IsTheFirstThatSomebodyNamed) {
  const std::vector<Place> places{
      {"variable", {{"PINSTEP_STORE", "/a"}, {"HOME", "/h"}}, "/b", {"/a"}},
      {"list", {{"PINSTEP_STORE", "/a:/b/"}}, "", {"/a", "/b"}},
      {"configured", {{"HOME", "/h"}}, "/site:/more", {"/site", "/more"}},
      {"expanded", {{"USER", "u"}, {"SCRATCH", "/s"}}, "$SCRATCH/${USER}x", {"/s/ux"}},
      {"home", {{"HOME", "/h"}}, "~/a:/b~/c", {"/h/a", "/b~/c"}},
      {"empty variable", {{"PINSTEP_STORE", ""}, {"HOME", "/h"}}, "", {"/h/.local/share/pinstep"}},
      {"xdg", {{"XDG_DATA_HOME", "/x"}, {"HOME", "/h"}}, "", {"/x/pinstep"}},
      {"relative xdg", {{"XDG_DATA_HOME", "x"}, {"HOME", "/h"}}, "", {"/h/.local/share/pinstep"}},
      {"relative", {{"PINSTEP_STORE", "a"}}, "", {}},
      {"unset", {{"HOME", "/h"}}, "/a/$NOT_SET", {}},
      {"no name", {{"HOME", "/h"}}, "/a/$/b", {}},
      {"unclosed", {{"HOME", "/h"}}, "/a/${HOME", {}},
      {"nothing", {}, "", {}},
  };
  for (const Place& place : places) {
    const auto found = stores(with(place.variables), place.configured);
    ASSERT_EQ(found.has_value(), !place.expected.empty()) << place.what;
    if (!found) {
      EXPECT_EQ(found.error().kind, ErrorKind::invalid) << place.what;
      continue;
    }
    std::vector<std::string> directories;
    for (const Store& store : *found) directories.push_back(store.directory());
    EXPECT_EQ(directories, place.expected) << place.what;
  }
}

TEST(Store, ModesDoNotDependOnTheUmask) {
  const TemporaryDirectory directory;
  for (const mode_t umask_value : {0077u, 0000u}) {
    const Store store(directory / ("store" + std::to_string(umask_value)));
    const mode_t before = ::umask(umask_value);
    const auto made = prepare_store(store);
    ::umask(before);
    ASSERT_TRUE(made) << made.error().cause;
    EXPECT_EQ(mode_of(store.directory() + "/e"), 0755u);
    EXPECT_EQ(mode_of(store.packages()), 0755u);
    EXPECT_EQ(mode_of(store.directory() + "/VERSION"), 0444u);
  }
}

TEST(Store, MembersOfAProjectStoreCannotTakeEachOthersPrefixes) {
  const TemporaryDirectory directory;
  const Store store(directory / "project");
  std::filesystem::create_directory(store.directory());
  ASSERT_EQ(::chmod(store.directory().c_str(), 03775), 0);
  ASSERT_TRUE(prepare_store(store));
  EXPECT_EQ(mode_of(store.directory() + "/e"), 03775u);
  EXPECT_EQ(mode_of(store.directory() + "/b"), 02775u);  // any member may bury the dead
}

TEST(Store, MembersOfAProjectStoreHaveACacheEach) {
  const TemporaryDirectory directory;
  const Store store(directory.path());
  ASSERT_EQ(::chmod(store.directory().c_str(), 03775), 0);
  const auto own = prepare_store(store);
  ASSERT_TRUE(own) << own.error().cause;
  const std::string cache = directory / ("c/" + std::to_string(::geteuid()));
  EXPECT_EQ(own->packages(), cache + "/pkgs");
  EXPECT_EQ(own->prefix(kId), store.prefix(kId));
  EXPECT_EQ(mode_of(own->packages()), 0755u);
  if (::geteuid() != 0) GTEST_SKIP() << "no root: the owner cannot be changed";
  ASSERT_EQ(::chown(own->packages().c_str(), 4711, 0), 0);
  EXPECT_EQ(prepare_store(store).error().kind, ErrorKind::refused);
}

TEST(Store, OfANewerVersionIsLeftAlone) {
  const TemporaryDirectory directory;
  write_file(directory / "VERSION", "2\n");
  const auto made = prepare_store(Store(directory.path()));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().kind, ErrorKind::unsupported);
  EXPECT_FALSE(std::filesystem::exists(directory / "e"));
}

TEST(Store, ThatCannotBeMadeSaysWhatToDo) {
  const TemporaryDirectory directory;
  write_file(directory / "file", "");
  const auto made = prepare_store(Store(directory / "file/store"));
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().hint.find("PINSTEP_STORE"), std::string::npos) << made.error().hint;
}

TEST(Store, ToWriteToIsTheFirstThatCanBe) {
  const TemporaryDirectory directory;
  write_file(directory / "file", "");
  write_file(directory / "newer/VERSION", "2\n");
  std::filesystem::create_symlink("nothing", directory / "dangling");
  const auto at = [&](const char* name) { return Store(directory / name); };
  const auto one = prepare_one({at("file"), at("newer"), at("dangling"), at("good"), at("other")});
  ASSERT_TRUE(one) << one.error().cause;
  EXPECT_EQ(one->directory(), at("good").directory());
  EXPECT_FALSE(std::filesystem::exists(directory / "other"));
  const auto none = prepare_one({at("dangling"), at("file")});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().cause, "'" + at("dangling").directory() + "' is a symbolic link to what is not there");
}

TEST(Store, VersionNeedsNoNewLine) {
  const TemporaryDirectory directory;
  write_file(directory / "VERSION", "1");
  EXPECT_TRUE(prepare_store(Store(directory.path())));
}

TEST(Published, IsFoundInTheFirstStoreThatHasIt) {
  const TemporaryDirectory directory;
  const std::vector<Store> all{Store(directory / "one"), Store(directory / "two")};
  EXPECT_FALSE(find_published(all, kId, kMe).value());
  publish(all[1], kId, "train");
  const auto found = find_published(all, kId, kMe);
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->prefix, all[1].prefix(kId));
  EXPECT_EQ((*found)->name, "train");
  EXPECT_EQ((*found)->built, 17);
  EXPECT_EQ((*found)->packages, 3u);
  EXPECT_EQ((*found)->bytes, 1000u);
}

TEST(Published, InAStoreThatCannotBeReadIsNotNone) {
  const TemporaryDirectory directory;
  write_file(directory / "file", "");
  EXPECT_FALSE(list_published({Store(directory / "file")}, kMe));
  EXPECT_TRUE(list_published({Store(directory / "absent")}, kMe));
}

TEST(Published, UnderTheSameFirstDigitsButAnotherIdIsAConflict) {
  const TemporaryDirectory directory;
  const std::vector<Store> all{Store(directory.path())};
  std::string other = kId;
  other.back() = 'b';
  publish(all[0], other);
  const auto found = find_published(all, kId, kMe);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind, ErrorKind::conflict);
}

TEST(Published, BySomebodyUntrustedCountsAsAbsent) {
  const TemporaryDirectory directory;
  const std::vector<Store> all{Store(directory.path())};
  publish(all[0], kId);
  if (::getuid() != 0) GTEST_SKIP() << "no root: the owner cannot be changed";
  ASSERT_EQ(::chown(all[0].prefix(kId).c_str(), 4711, 0), 0);
  EXPECT_FALSE(find_published(all, kId, kMe).value());
  EXPECT_TRUE(find_published(all, kId, Trust{0, {4711}}).value());
}

TEST(Published, ThroughASymbolicLinkCountsAsAbsent) {
  const TemporaryDirectory directory;
  const std::vector<Store> all{Store(directory / "store")};
  publish(Store(directory / "else"), kId);
  std::filesystem::create_directories(directory / "store/e");
  std::filesystem::create_symlink(Store(directory / "else").prefix(kId), all[0].prefix(kId));
  EXPECT_FALSE(find_published(all, kId, kMe).value());
}

TEST(Published, AreListedByTheirFirstDigits) {
  const TemporaryDirectory directory;
  const std::vector<Store> all{Store(directory.path())};
  const std::string b = "abab" + std::string(60, 'b');
  publish(all[0], kId);
  publish(all[0], b);
  std::filesystem::create_directory(all[0].stage(kId, "1234"));
  const auto ids = [&](std::string_view begins) {
    std::vector<std::string> found;
    const auto listed = list_published(all, kMe, begins);
    for (const Published& published : *listed) found.push_back(published.id);
    return found;
  };
  EXPECT_EQ(ids(""), (std::vector<std::string>{kId, b}));
  EXPECT_EQ(ids("abab"), (std::vector<std::string>{b}));
  EXPECT_EQ(ids(b), (std::vector<std::string>{b}));
  EXPECT_EQ(ids(b.substr(0, 63) + "c"), (std::vector<std::string>{}));
}

TEST(WriteOnce, GivesAReadOnlyFileAndLeavesNothingBeside) {
  const TemporaryDirectory directory;
  const std::string path = directory / "file";
  ASSERT_TRUE(write_once(path, "first"));
  ASSERT_TRUE(write_once(path, "first"));
  ASSERT_TRUE(write_once(path, "other"));
  EXPECT_EQ(read_file(path, 10)->text, "other");
  EXPECT_EQ(mode_of(path), 0444u);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory.path()), {}), 1);
}

TEST(RemoveTree, TakesAwayWhatIsSealedAndFollowsNoLink) {
  const TemporaryDirectory directory;
  write_file(directory / "outside/file", "");
  write_file(directory / "tree/a/b/file", "");
  std::filesystem::create_directory_symlink(directory / "outside", directory / "tree/a/link");
  for (const char* sealed : {"tree/a/b", "tree/a", "tree"})
    ASSERT_EQ(::chmod((directory / sealed).c_str(), 0555), 0);
  ASSERT_TRUE(remove_tree(directory / "tree"));
  EXPECT_FALSE(std::filesystem::exists(directory / "tree"));
  EXPECT_TRUE(std::filesystem::exists(directory / "outside/file"));
  EXPECT_TRUE(remove_tree(directory / "absent"));
}

}  // namespace
}  // namespace pinstep
