// The facts of the test data's page about its real packages (sections 1 and 2): counted here as there.
#include <filesystem>

#include "envtools/base/fd.h"
#include "envtools/hash/hash.h"
#include "envtools/package/package.h"
#include "tests/unit/support/files.h"
#include "tests/unit/support/results.h"
#include "tests/unit/support/testdata.h"

namespace pinstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing_support::TemporaryDirectory;
using testing_support::testdata;

std::vector<std::string> archives_in(const std::string& directory) {
  std::vector<std::string> archives;
  for (const auto& file : std::filesystem::recursive_directory_iterator(directory))
    if (parse_archive_name(file.path().string())) archives.push_back(file.path());
  std::sort(archives.begin(), archives.end());
  return archives;
}

// Extracts and reads one archive; a failure of either fails the test.
class Cache {
 public:
  std::string extract(const std::string& archive) {
    const auto name = parse_archive_name(archive);
    const auto home = extract_into_cache(archive, directory_.path(), name->stem, *hash_file(archive));
    EXPECT_TRUE(home) << testing::PrintToString(home);
    return home.value_or("");
  }
  PackageInfo read(const std::string& archive) {
    const auto info = read_package(extract(archive));
    EXPECT_TRUE(info) << testing::PrintToString(info);
    return info.value_or(PackageInfo());
  }

 private:
  TemporaryDirectory directory_;
};

struct Counts {
  std::size_t paths = 0, links = 0, binary = 0, text = 0;
  std::uint64_t bytes = 0;
  bool operator==(const Counts&) const = default;
  friend std::ostream& operator<<(std::ostream& out, const Counts& c) {
    return out << c.paths << " paths, " << c.links << " links, " << c.binary << " binary, " << c.text
               << " text, " << c.bytes << " bytes";
  }
};

Counts count(const std::vector<PackagePath>& paths) {
  Counts counts;
  for (const PackagePath& path : paths) {
    ++counts.paths;
    counts.links += path.type == PackagePath::Type::symlink;
    counts.binary += path.mode == PackagePath::Mode::binary;
    counts.text += path.mode == PackagePath::Mode::text;
    counts.bytes += path.type == PackagePath::Type::file ? path.size : 0;
  }
  return counts;
}

std::string content(const std::string& path) { return read_file(path, 1 << 20, Links::followed).value().text; }

TEST(RealPackages, AreExtractedWholeAndAsTheyWereCounted) {
  const std::string channel = testdata("conda/channel/linux-64");
  if (channel.empty()) GTEST_SKIP() << "no test data: conda/channel";
  Cache cache;
  Counts all;
  std::map<std::string, PackageInfo> packages;
  for (const std::string& archive : archives_in(channel)) {
    PackageInfo info = cache.read(archive);
    const Counts one = count(info.paths);
    all = {all.paths + one.paths, all.links + one.links, all.binary + one.binary, all.text + one.text,
           all.bytes + one.bytes};
    for (const PackagePath& path : info.paths) {
      EXPECT_FALSE(path.no_link);
      EXPECT_TRUE(path.placeholder.empty() || path.placeholder.size() == 255) << path.path;
    }
    EXPECT_GT(info.timestamp, 1500000000);
    EXPECT_LT(info.timestamp, 1800000000);
    packages.emplace(info.name, std::move(info));
  }
  EXPECT_EQ(packages.size(), 24U);
  EXPECT_EQ(all, (Counts{5555, 1192, 157, 32, all.bytes}));

  struct Case {
    const char* name;
    std::size_t paths, links, binary, text;
  };
  for (const Case& c :
       {Case{"ncurses", 2986, 1097, 152, 14}, Case{"openssl", 158, 3, 1, 4}, Case{"tk", 519, 2, 2, 6},
        Case{"xz", 138, 55, 2, 1}, Case{"libffi", 12, 2, 0, 1}, Case{"pip", 472, 0, 0, 0},
        Case{"_libgcc_mutex", 0, 0, 0, 0}, Case{"_openmp_mutex", 1, 1, 0, 0}}) {
    Counts counts = count(packages[c.name].paths);
    counts.bytes = 0;
    EXPECT_EQ(counts, (Counts{c.paths, c.links, c.binary, c.text, 0})) << c.name;
  }

  // None of them says so in repodata.
  std::map<Noarch, std::vector<std::string>> kinds;
  for (const auto& [name, info] : packages) kinds[info.noarch].push_back(name);
  EXPECT_THAT(kinds[Noarch::python], ElementsAre("pip", "setuptools", "wheel"));
  EXPECT_THAT(kinds[Noarch::generic], ElementsAre("ca-certificates", "tzdata"));

  std::vector<std::string> commands;
  for (const auto& [name, info] : packages)
    for (const EntryPoint& point : info.entry_points)
      commands.push_back(point.command + " " + point.module + " " + point.function);
  EXPECT_THAT(commands,
              testing::UnorderedElementsAre("pip pip._internal.cli.main main",
                                            "pip3 pip._internal.cli.main main", "wheel wheel.cli main"));
  EXPECT_EQ(packages["openssl"].version, "3.3.1");
  EXPECT_EQ(packages["openssl"].build, "h4ab18f5_1");
  EXPECT_EQ(packages["openssl"].build_number, 1U);
  EXPECT_EQ(packages["openssl"].subdir, "linux-64");
}

TEST(RealPackages, HaveOneOfTwoModesAndNoTimesBefore1980) {
  const std::string archive = testdata("conda/channel/linux-64/openssl-3.3.1-h4ab18f5_1.conda");
  if (archive.empty()) GTEST_SKIP() << "no test data: conda/channel";
  Cache cache;
  const std::string home = cache.extract(archive);
  int executables = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(home)) {
    struct stat info {};
    ASSERT_EQ(::lstat(file.path().c_str(), &info), 0);
    if (S_ISLNK(info.st_mode)) continue;
    if (S_ISDIR(info.st_mode)) {
      EXPECT_EQ(info.st_mode & 07777, 0755U) << file.path();
      continue;
    }
    const mode_t mode = info.st_mode & 07777;
    EXPECT_TRUE(mode == 0444 || mode == 0555) << file.path();
    executables += mode == 0555;
    EXPECT_GE(info.st_mtime, 315532800);
  }
  EXPECT_GT(executables, 0);
}

TEST(SparsePackages, NeedNoPathsJsonAndNoMetadataJson) {
  const std::string edge = testdata("conda/edge/rattler-sparse");
  if (edge.empty()) GTEST_SKIP() << "no test data: conda/edge";
  Cache cache;
  const auto at = [&](const char* name) { return edge + "/" + name + "-1.0.0-0.conda"; };
  EXPECT_EQ(content(cache.extract(at("dotslash-test")) + "/lib/data.txt"), "dot slash payload\n");
  EXPECT_EQ(content(cache.extract(at("zip64-test")) + "/bin/hello.txt"), "zip64 payload\n");
  for (const char* name : {"libreal.so.1", "liblink.so", "libhard.so"})
    EXPECT_EQ(content(cache.extract(at("symlink-test")) + "/lib/" + name).substr(0, 18), "real library bytes")
        << name;

  const PackageInfo links = cache.read(at("symlink-test"));
  ASSERT_EQ(links.paths.size(), 3U);
  EXPECT_EQ(links.paths[1].path, "lib/liblink.so");
  EXPECT_EQ(links.paths[1].type, PackagePath::Type::symlink);

  const PackageInfo bare = cache.read(at("info-only"));
  EXPECT_EQ(bare.name + " " + bare.version + " " + bare.build, "info-only 1.0.0 0");
  EXPECT_THAT(bare.paths, IsEmpty());
  EXPECT_EQ(cache.read(at("sparse-test")).paths.size(), 3U);
}

TEST(EdgePackages, AreReadForWhatTheyAre) {
  const std::string edge = testdata("conda/edge");
  if (edge.empty()) GTEST_SKIP() << "no test data: conda/edge";
  Cache cache;
  EXPECT_THAT(cache.read(edge + "/rattler-link-scripts/link-scripts-0.1.0-h4616a5c_0.conda").link_scripts,
              ElementsAre("bin/.link-scripts-post-link.sh", "bin/.link-scripts-pre-unlink.sh"));
  EXPECT_THAT(cache.read(edge + "/rattler-packages/empty-0.1.0-h4616a5c_0.conda").paths, IsEmpty());
  const PackageInfo python = cache.read(edge + "/conda-recipes/python-3.99.99-0.conda");
  EXPECT_EQ(python.python_site_packages_path, "lib/python3.99t/site-packages");
  const PackageInfo sample = cache.read(edge + "/conda-recipes/sample_noarch_python-1.0-py_0.conda");
  EXPECT_EQ(sample.noarch, Noarch::python);
  EXPECT_THAT(cache.read(edge + "/conda-recipes/dependent-1.0-0.conda").depends,
              ElementsAre("dependency >=1.0,<2.0a0"));
  for (const std::string& archive : archives_in(edge + "/rattler-clobber")) cache.read(archive);
  for (const std::string& archive : archives_in(edge + "/conda-recipes")) cache.read(archive);
}

TEST(BothFormats, GiveTheSameTree) {
  const std::string edge = testdata("conda/edge/mock-both-formats");
  if (edge.empty()) GTEST_SKIP() << "no test data: conda/edge";
  Cache cache;
  const PackageInfo a = cache.read(edge + "/mock-2.0.0-py37_1000.conda");
  const PackageInfo b = cache.read(edge + "/mock-2.0.0-py37_1000.tar.bz2");
  EXPECT_EQ(a.paths.size(), 32U);
  ASSERT_EQ(a.paths.size(), b.paths.size());
  for (std::size_t i = 0; i < a.paths.size(); ++i) {
    EXPECT_EQ(a.paths[i].path, b.paths[i].path);
    EXPECT_EQ(a.paths[i].sha256, b.paths[i].sha256);
  }
}

// The .tar.bz2 has two links as empty files, the .conda has them as links without a target.
TEST(BothFormats, LinksThatWereLostInPackingAreRefused) {
  const std::string edge = testdata("conda/edge/zlib-both-formats");
  if (edge.empty()) GTEST_SKIP() << "no test data: conda/edge";
  const TemporaryDirectory cache;
  for (const auto& [extension, why] :
       {std::pair(".tar.bz2", "'lib/libz.so' as a file and lists it as a symbolic link"),
        std::pair(".conda", "'lib/libz.so.1', a symbolic link to nothing")}) {
    const std::string archive = edge + "/zlib-1.2.11-h7b6447c_3" + extension;
    const auto home = extract_into_cache(archive, cache.path(), "zlib-1.2.11-h7b6447c_3", *hash_file(archive));
    ASSERT_FALSE(home);
    EXPECT_EQ(home.error().kind, ErrorKind::corrupt);
    EXPECT_EQ(home.error().cause, "'" + archive + "' holds " + why);
  }
  // Nothing is left but the place where extraction happens, and that is empty.
  for (const auto& file : std::filesystem::recursive_directory_iterator(cache.path()))
    EXPECT_EQ(file.path().filename(), ".extract");
}

}  // namespace
}  // namespace pinstep
