// What archives can do wrong, and what comes of it.
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <thread>

#include "envtools/base/fd.h"
#include "envtools/base/process_tag.h"
#include "envtools/package/cache.h"
#include "envtools/package/package.h"
#include "tests/unit/envtools/package/made.h"
#include "tests/unit/support/child.h"
#include "tests/unit/support/files.h"
#include "tests/unit/support/random.h"
#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using made::Member;
using made::path_json;
using testing::HasSubstr;
using testing_support::FailsWith;
using testing_support::Random;
using testing_support::Succeeds;
using testing_support::TemporaryDirectory;
using testing_support::write_file;

const std::string kDigest(64, '7');

class Extract : public testing::Test {
 protected:
  // As the caller of a build does it.
  Result<std::string> cached(const std::string& archive) {
    write_file(archive_, archive);
    return extract_into_cache(archive_, cache_, "x-1-0", kDigest);
  }
  Result<std::string> cached(const std::vector<Member>& payload, const std::vector<std::string>& paths = {}) {
    return cached(made::conda(payload, paths));
  }
  std::string content(const std::string& path) {
    return read_file(cache_ + "/x-1-0-7777777777777777/" + path, 1 << 20, Links::followed).value().text;
  }
  void SetUp() override { std::filesystem::create_directory(cache_); }

  const TemporaryDirectory directory_;
  const std::string archive_ = directory_ / "x-1-0.conda";
  const std::string cache_ = directory_ / "cache";
};

TEST_F(Extract, RefusesMembersThatLeadOutOfThePackage) {
  write_file(directory_ / "cache/outside", "untouched");
  struct Case {
    std::vector<Member> payload;
    const char* why;
  };
  const Case cases[] = {
      {{{"/etc/x", "bad"}}, "'/etc/x', which leads out of the package"},
      {{{"../outside", "bad"}}, "'../outside', which leads out of the package"},
      {{{"a/../../outside", "bad"}}, "'a/../../outside', which leads out of the package"},
      {{{"..", "", '5'}}, "'..', which leads out of the package"},
      {{{"a", "", '2', "../.."}, {"a/outside", "bad"}},
       "'a/outside', which leads through a symbolic link of the same archive"},
      {{{"a", "", '2', "/tmp"}, {"a/", "", '5'}},
       "'a', which leads through a symbolic link of the same archive"},
      {{{"a/b", "", '2', "."}, {"a/b/c/d", "bad"}},
       "'a/b/c/d', which leads through a symbolic link of the same archive"},
      {{{"h", "", '1', "../../outside"}}, "'h', a hard link that leads out of the package"},
      {{{"h", "", '1', "/etc/passwd"}}, "'h', a hard link that leads out of the package"},
      {{{"a", "", '2', "../.."}, {"h", "", '1', "a/outside"}},
       "'h', a hard link to 'a/outside', which is no file before it in the archive"},
      {{{"dev", "", '3'}}, "'dev', which is a device, FIFO or socket"},
      {{{"fifo", "", '6'}}, "'fifo', which is a device, FIFO or socket"},
      {{{".", "bad"}}, "'.', which names nothing"},
  };
  for (const Case& c : cases)
    EXPECT_THAT(cached(c.payload), FailsWith(ErrorKind::refused, "'" + archive_ + "' holds " + c.why));
  EXPECT_EQ(read_file(cache_ + "/outside", 100)->text, "untouched");
  EXPECT_FALSE(std::filesystem::exists(cache_ + "/x-1-0-7777777777777777"));
}

TEST_F(Extract, WritesThroughNoLinkThatALaterMemberReplaces) {
  write_file(directory_ / "outside", "untouched");
  ASSERT_THAT(cached({{"a", "", '2', directory_ / "outside"}, {"a", "new"}}, {path_json("a", "new")}),
              Succeeds());
  EXPECT_EQ(content("a"), "new");
  EXPECT_EQ(read_file(directory_ / "outside", 100)->text, "untouched");
}

TEST_F(Extract, ALaterMemberOfTheSameNameCounts) {
  ASSERT_THAT(cached({{"a", "old"}, {"b", "", '1', "a"}, {"./a", "new"}},
                     {path_json("a", "new"), path_json("b", "old")}),
              Succeeds());
  EXPECT_EQ(content("a"), "new");
  EXPECT_EQ(content("b"), "old");
  EXPECT_THAT(cached(made::zip({})), Succeeds()) << "what is in the cache is not extracted again";
}

TEST_F(Extract, ADirectoryStaysOne) {
  EXPECT_THAT(
      cached({{"a/b", "1"}, {"a", "2"}}),
      FailsWith(ErrorKind::corrupt, "'" + archive_ + "' holds 'a' as a directory and as something else"));
  EXPECT_THAT(
      cached({{"a", "1"}, {"a/b", "2"}}),
      FailsWith(ErrorKind::corrupt, "'" + archive_ + "' holds 'a/b' below something that is no directory"));
}

TEST_F(Extract, ComparesEveryFileWithPathsJson) {
  const std::string hint =
      "the package is not what its info/paths.json says; fetch it anew or use another build of it";
  const std::string link = R"({"_path": "l", "path_type": "softlink", "sha256": "", "size_in_bytes": 0})";
  const std::string begin = "'" + archive_ + "' ";
  EXPECT_THAT(cached({}, {path_json("a", "1")}),
              FailsWith(ErrorKind::corrupt, begin + "lacks 'a', which it lists"));
  EXPECT_THAT(cached({{"a", "2"}}, {path_json("a", "1")}),
              FailsWith(ErrorKind::corrupt, begin + "holds 'a' with another sha256 than it lists", hint));
  EXPECT_THAT(cached({{"a", "11"}}, {path_json("a", "1")}),
              FailsWith(ErrorKind::corrupt, begin + "holds 'a' with 2 bytes and lists it with 1", hint));
  EXPECT_THAT(
      cached({{"l", ""}}, {link}),
      FailsWith(ErrorKind::corrupt, begin + "holds 'l' as a file and lists it as a symbolic link", hint));
  EXPECT_THAT(
      cached({{"a", "", '2', "b"}}, {path_json("a", "1")}),
      FailsWith(ErrorKind::corrupt, begin + "holds 'a' as a symbolic link and lists it as a file", hint));
  EXPECT_TRUE(std::filesystem::is_empty(cache_ + "/.extract"));
}

TEST_F(Extract, ToleratesFilesThatAreNotListedAndDirectoriesThatAreNotPacked) {
  const std::string empty = R"({"_path": "d", "path_type": "directory"})";
  ASSERT_THAT(cached({{"a", "1"}, {"unlisted", "2"}}, {path_json("a", "1"), empty}), Succeeds());
}

TEST_F(Extract, KeepsTheXBitAloneAndNoTimeBefore1980) {
  const mode_t before = ::umask(0077);
  const auto home = cached({{"d/", "", '5', "", 0700},
                            {"d/plain", "", '0', "", 0600},
                            {"d/program", "", '0', "", 04711, 5},
                            {"d/late", "", '0', "", 0664, 2000000000}});
  ::umask(before);
  ASSERT_THAT(home, Succeeds());
  const auto stat_of = [&](const char* path) {
    struct stat info {};
    EXPECT_EQ(::lstat((*home + path).c_str(), &info), 0);
    return info;
  };
  EXPECT_EQ(stat_of("").st_mode & 07777, 0755U);
  EXPECT_EQ(stat_of("/d").st_mode & 07777, 0755U);
  EXPECT_EQ(stat_of("/d/plain").st_mode & 07777, 0444U);
  EXPECT_EQ(stat_of("/d/program").st_mode & 07777, 0555U);
  EXPECT_EQ(stat_of("/d/program").st_mtime, 315532800);
  EXPECT_EQ(stat_of("/d/late").st_mtime, 2000000000);
}

TEST_F(Extract, TakesNamesAsUtf8WhateverTheLocaleIs) {
  const std::string name = "caf\xc3\xa9.txt";
  const std::string record = "20 path=" + name + "\n";  // a pax header: its length, then "path=…"
  const std::string pax = std::to_string(record.size() - 3 + 3) + record.substr(2);
  for (const std::vector<Member>& payload :
       {std::vector<Member>{{name, "1"}}, std::vector<Member>{{"PaxHeader", pax, 'x'}, {"plain", "1"}}}) {
    std::filesystem::remove_all(cache_);
    std::filesystem::create_directory(cache_);
    ASSERT_THAT(cached(payload, {path_json(name, "1")}), Succeeds());
  }
}

TEST_F(Extract, ReadsZipsOfEveryKindAndOrder) {
  const std::string index = R"({"name": "x", "version": "1", "build": "0"})";
  const made::ZipPart info{"info-x.tar.zst", made::zstd(made::tar({{"info/index.json", index}}))};
  const made::ZipPart payload{"pkg-x.tar.zst", made::zstd(made::tar({{"a", "1"}}))};
  const made::ZipPart metadata{"metadata.json", R"({"conda_pkg_format_version": 2})"};
  for (const auto kind : {made::ZipKind::plain, made::ZipKind::descriptors, made::ZipKind::zip64})
    for (const auto& parts :
         {std::vector{metadata, payload, info}, std::vector{info, payload}, std::vector{info}}) {
      std::filesystem::remove_all(cache_ + "/x-1-0-7777777777777777");
      ASSERT_THAT(cached(made::zip(parts, kind)), Succeeds());
      EXPECT_EQ(std::filesystem::exists(cache_ + "/x-1-0-7777777777777777/a"), parts.size() > 1);
    }
}

TEST_F(Extract, SaysWhatIsNoPackage) {
  const std::string begin = "'" + archive_ + "' ";
  EXPECT_THAT(cached("<html>"),
              FailsWith(ErrorKind::corrupt, begin + "is no conda package: neither a zip nor a bzip2 file"));
  EXPECT_THAT(cached(std::string()),
              FailsWith(ErrorKind::corrupt, begin + "is no conda package: neither a zip nor a bzip2 file"));
  EXPECT_THAT(cached(made::zip({})),
              FailsWith(ErrorKind::corrupt, begin + "is no conda package: it has no info-….tar.zst"));
  EXPECT_THAT(cached(made::zip({{"metadata.json", R"({"conda_pkg_format_version": 3})"}})),
              FailsWith(ErrorKind::unsupported, begin + "has version 3 of the .conda format, not 2"));
  EXPECT_THAT(cached(made::zip({{"info-x.tar.zst", "no zstd"}})),
              FailsWith(ErrorKind::corrupt, begin + "is damaged: Unknown frame descriptor"));
  EXPECT_THAT(cached(made::zip({{"info-x.tar.zst", made::zstd(std::string(5000, 'x'))}})),
              testing::Not(Succeeds()));
  EXPECT_THAT(cached(made::bzip2(made::tar({{"a", "1"}}))), testing::Not(Succeeds()));
}

TEST_F(Extract, NoCutArchivePassesForWhole) {
  const std::string whole = made::conda({{"a", std::string(3000, 'a')}, {"b", "1"}},
                                        {path_json("a", std::string(3000, 'a')), path_json("b", "1")});
  for (std::size_t size = 0; size < whole.size(); size += 7)
    EXPECT_FALSE(cached(whole.substr(0, size))) << size;
  EXPECT_THAT(cached(whole), Succeeds());

  const std::string index = R"({"name": "x", "version": "1", "build": "0"})";
  const std::string old = made::bzip2(made::tar(
      {{"info/index.json", index}, {"info/files", "a\nb\n"}, {"a", std::string(3000, 'a')}, {"b", "1"}}));
  std::filesystem::remove_all(cache_ + "/x-1-0-7777777777777777");
  for (std::size_t size = 0; size < old.size(); size += 7) EXPECT_FALSE(cached(old.substr(0, size))) << size;
  EXPECT_THAT(cached(old), Succeeds());
}

TEST_F(Extract, DamagedBytesEndInAnErrorOrTheListedContent) {
  Random random;
  const std::string whole = made::conda({{"a", "content of a"}}, {path_json("a", "content of a")});
  for (int i = 0; i < 500; ++i) {
    std::string damaged = whole;
    for (std::size_t n = random.between(1, 4); n > 0; --n)
      damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
    const auto home = cached(damaged);
    if (!home) continue;
    EXPECT_TRUE(!std::filesystem::exists(*home + "/a") || content("a") == "content of a") << random << i;
    std::filesystem::remove_all(*home);
  }
}

TEST_F(Extract, AnyNumberMayDoItAtOnce) {
  std::vector<Member> payload;
  std::vector<std::string> paths;
  for (int i = 0; i < 200; ++i) {
    payload.push_back({"d" + std::to_string(i % 7) + "/" + std::to_string(i), std::to_string(i)});
    paths.push_back(path_json(payload.back().name, payload.back().content));
  }
  write_file(archive_, made::conda(payload, paths));
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back(
        [&] { EXPECT_THAT(extract_into_cache(archive_, cache_, "x-1-0", kDigest), Succeeds()); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(content("d3/3"), "3");
  EXPECT_TRUE(std::filesystem::is_empty(cache_ + "/.extract"));
}

TEST_F(Extract, AKillAtAnyInstantLeavesNothingHalf) {
  std::vector<Member> payload;
  std::vector<std::string> paths;
  for (int i = 0; i < 300; ++i) {
    payload.push_back({"d/" + std::to_string(i), std::string(1000, 'x')});
    paths.push_back(path_json(payload.back().name, payload.back().content));
  }
  write_file(archive_, made::conda(payload, paths));
  const std::string home = cache_ + "/x-1-0-7777777777777777";
  for (int i = 0; i < 40; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      [[maybe_unused]] const auto done = extract_into_cache(archive_, cache_, "x-1-0", kDigest);
      ::_exit(0);
    }
    ::usleep(static_cast<useconds_t>(i) * 700);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    if (!std::filesystem::exists(home)) continue;
    EXPECT_TRUE(std::filesystem::exists(home + "/info/paths.json"));
    EXPECT_TRUE(std::filesystem::exists(home + "/d/299"));
    std::filesystem::remove_all(home);
  }
  ASSERT_THAT(extract_into_cache(archive_, cache_, "x-1-0", kDigest), Succeeds());
  EXPECT_TRUE(std::filesystem::is_empty(cache_ + "/.extract"));
}

TEST_F(Extract, AFullDiskIsSaidToBeFull) {
  if (::geteuid() != 0) GTEST_SKIP() << "no root: to mount a small file system";
  if (::mount("tmpfs", cache_.c_str(), "tmpfs", 0, "size=64k") != 0)
    GTEST_SKIP() << "no root: " << ::strerror(errno);
  const std::string content(1 << 20, 'x');
  const auto home = cached({{"large", content}}, {path_json("large", content)});
  const bool is_empty = std::filesystem::is_empty(cache_ + "/.extract");
  ::umount2(cache_.c_str(), MNT_DETACH);
  EXPECT_THAT(home, FailsWith(ErrorKind::no_space,
                              "cannot extract 'large' of '" + archive_ + "': No space left on device"));
  EXPECT_TRUE(is_empty);
}

TEST_F(Extract, WhatAKilledProcessLeftIsClearedAway) {
  const auto child = testing_support::in_child([] {
    const std::string tag = process_tag();
    return ::write(STDOUT_FILENO, tag.data(), tag.size()) > 0 ? 0 : 1;
  });
  const std::string aside = cache_ + "/.extract/";
  write_file(aside + child.output + ".abc/bin/x", "");
  write_file(aside + process_tag() + ".abc/bin/x", "");
  write_file(aside + "0123456789abcdef-1.abc/bin/x", "");
  write_file(aside + "0123456789abcdef-2.abc/bin/x", "");
  const struct timespec old[2] = {{1, 0}, {1, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (aside + "0123456789abcdef-2.abc").c_str(), old, 0), 0);
  ASSERT_THAT(cached(std::vector<Member>{}), Succeeds());
  EXPECT_FALSE(std::filesystem::exists(aside + child.output + ".abc"));
  EXPECT_TRUE(std::filesystem::exists(aside + process_tag() + ".abc"));
  EXPECT_TRUE(std::filesystem::exists(aside + "0123456789abcdef-1.abc"));
  EXPECT_FALSE(std::filesystem::exists(aside + "0123456789abcdef-2.abc"));
}

TEST_F(Extract, NamesOfTheCacheAreChecked) {
  for (const char* stem : {"", "..", "a/b", ".x", "/"})
    EXPECT_THAT(extract_into_cache(archive_, cache_, stem, kDigest), testing::Not(Succeeds())) << stem;
  EXPECT_THAT(extract_into_cache(archive_, cache_, "x-1-0", ""), testing::Not(Succeeds()));
  EXPECT_THAT(extract_into_cache(directory_ / "absent", cache_, "x-1-0", kDigest),
              FailsWith(ErrorKind::not_found,
                        "cannot open '" + (directory_ / "absent") + "': No such file or directory"));
}

TEST_F(Extract, ExtractPackageWantsADirectoryThatIsNotThere) {
  write_file(archive_, made::conda({{"a", "1"}}, {}));
  ASSERT_THAT(extract_package(archive_, directory_ / "out"), Succeeds());
  EXPECT_EQ(read_file(directory_ / "out/a", 10)->text, "1");
  EXPECT_THAT(extract_package(archive_, directory_ / "out"), testing::Not(Succeeds()));
}

TEST_F(Extract, IsNotTakenFromTheCacheWhenItWasChangedSince) {
  const std::string home = cache_ + "/x-1-0-7777777777777777";
  const struct {
    const char* what;
    std::function<void()> change;
  } cases[] = {
      {"content of the same size", [&] { std::filesystem::remove(home + "/a"), write_file(home + "/a", "2"); }},
      {"a file is gone", [&] { std::filesystem::remove(home + "/d/b"); }},
      {"a file more", [&] { write_file(home + "/d/c", "1"); }},
      {"info/ is gone", [&] { std::filesystem::remove_all(home + "/info"); }},
      {"a program is one no more", [&] { ::chmod((home + "/d/b").c_str(), 0444); }},
      {"another link",
       [&] { std::filesystem::remove(home + "/l"), std::filesystem::create_symlink("b", home + "/l"); }},
      {"no marker", [&] { std::filesystem::remove(home + "/" + std::string(kUnpackedMarker)); }},
      {"an empty marker", [&] { std::filesystem::resize_file(home + "/" + std::string(kUnpackedMarker), 0); }},
  };
  const auto changed = FailsWith(ErrorKind::corrupt, "'" + home + "' is not as it was unpacked",
                                 "build again: the package is then unpacked anew");
  const std::vector<Member> payload{{"a", "1"}, {"d/b", "1", '0', "", 0755}, {"l", "", '2', "a"}};
  for (const auto& c : cases) {
    ASSERT_THAT(cached(payload), Succeeds()) << c.what;
    ASSERT_THAT(cached(payload), Succeeds()) << c.what;
    c.change();
    EXPECT_THAT(cached(payload), changed) << c.what;
    ASSERT_THAT(remove_cached(home), Succeeds());
  }
}

TEST_F(Extract, OfAnotherArchiveWithTheSameFirstDigitsIsNotTaken) {
  ASSERT_THAT(cached(std::vector<Member>{}), Succeeds());
  const std::string other = kDigest.substr(0, 63) + "8";
  const auto home = extract_into_cache(archive_, cache_, "x-1-0", other);
  ASSERT_FALSE(home);
  EXPECT_EQ(home.error().kind, ErrorKind::corrupt);
}

TEST_F(Extract, ListsNoMarkerAmongTheFilesOfAPackageWithoutLists) {
  const std::string index = R"({"name": "x", "version": "1", "build": "0"})";
  const auto home = cached(made::bzip2(made::tar({{"a", "1"}, {"info/index.json", index}})));
  ASSERT_THAT(home, Succeeds());
  const auto package = read_package(*home);
  ASSERT_THAT(package, Succeeds());
  ASSERT_EQ(package->paths.size(), 1U);
  EXPECT_EQ(package->paths[0].path, "a");
}

TEST_F(Extract, NamesThePackageAndNotWhereItWasUnpacked) {
  const struct {
    const char* index;
    const char* cause;
  } cases[] = {
      {"{}", "'x-1-0/info/index.json' does not give the name of the package"},
      {R"({"name": "x"})", "'x-1-0/info/index.json' does not give the version of the package"},
      {R"({"name": "x/y"})", "'x-1-0/info/index.json' has the name 'x/y'"},
      {"[]", "'x-1-0/info/index.json' is no JSON object"},
      {"", "'x-1-0/info/index.json' is not JSON: "},
  };
  for (const auto& c : cases) {
    const auto home = cached(made::bzip2(made::tar({{"info/index.json", c.index}})));
    ASSERT_FALSE(home) << c.index;
    EXPECT_TRUE(home.error().cause.starts_with(c.cause)) << home.error().cause;
  }
  EXPECT_EQ(cached(made::bzip2(made::tar({{"a", "1"}}))).error().cause,
            "'x-1-0' is no conda package: it has no info/index.json");
}

}  // namespace
}  // namespace pinstep
