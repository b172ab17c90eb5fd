#include "envtools/lock/lock.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "envtools/hash/hash.h"
#include "envtools/yaml/yaml.h"
#include "tests/unit/support/files.h"
#include "tests/unit/support/random.h"
#include "tests/unit/support/results.h"
#include "tests/unit/support/testdata.h"

namespace pinstep {

inline void PrintTo(const LockedPackage& package, std::ostream* out) {
  *out << package.name << ' ' << package.version << ' ' << package.platform << ' ' << package.url;
}

namespace {

using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using testing::Pair;
using testing_support::FailsWith;
using testing_support::Holds;
using testing_support::Random;
using testing_support::shown;
using testing_support::Succeeds;

LockedPackage package(std::string name, std::string version, std::string build, std::string url = {}) {
  LockedPackage package;
  package.url =
      url.empty() ? "https://h.example.org/c/linux-64/" + name + "-" + version + "-" + build + ".conda" : url;
  package.sha256 = sha256_hex(package.url);
  package.name = std::move(name);
  package.version = std::move(version);
  package.build = std::move(build);
  package.platform = "linux-64";
  return package;
}

LockedPackage wheel(std::string name, std::string version) {
  LockedPackage made =
      package(name, version, "", "https://w.example.org/" + name + "-" + version + "-py3-none-any.whl");
  made.manager = Manager::pip;
  return made;
}

// A small lock with everything that the format has.
Lock example() {
  Lock lock;
  lock.platforms = {"linux-64"};
  lock.content_hash = {{"linux-64", std::string(64, 'c')}};
  lock.channels = {{"c", "https://h.example.org/c"}, {"https://x.example.org/d", "https://x.example.org/d"}};
  lock.sources = {"environment.yml"};
  lock.variables = {{"A", "yes"}, {"B", "a b%\n"}};
  lock.custom = {{"pinstep.solver", "py-rattler 0.28.0"}};
  lock.packages = {package("_libgcc_mutex", "0.1", "conda_forge"), package("python", "3.12", "h1_0_cpython"),
                   wheel("einops", "0.8.0")};
  lock.packages[0].md5 = std::string(32, 'd');
  lock.packages[0].size = 2562;
  lock.packages[1].size = 31'000'000;
  lock.packages[1].dependencies = {{"_libgcc_mutex", "0.1"}, {"__glibc", ">=2.17,<3.0.a0"}, {"tzdata", ""}};
  lock.packages[2].dependencies = {{"python", ">=3.8"}};
  return lock;
}

Lock read_back(const Lock& lock) {
  auto read = parse_lock(write_lock(lock), "/d/l.yml");
  EXPECT_THAT(read, Succeeds());
  return read.value_or(Lock{});
}

void expect_same(const Lock& a, const Lock& b) {
  EXPECT_EQ(a.origin, b.origin);
  EXPECT_EQ(a.platforms, b.platforms);
  EXPECT_EQ(a.content_hash, b.content_hash);
  EXPECT_EQ(a.channels, b.channels);
  EXPECT_EQ(a.sources, b.sources);
  EXPECT_EQ(a.variables, b.variables);
  EXPECT_EQ(a.custom, b.custom);
  EXPECT_EQ(a.packages, b.packages);
}

// ---- writing

TEST(WriteLock, IsAsTheFormatNoteSays) {
  const std::string hash0 = sha256_hex("https://h.example.org/c/linux-64/_libgcc_mutex-0.1-conda_forge.conda");
  const std::string hash1 = sha256_hex("https://h.example.org/c/linux-64/python-3.12-h1_0_cpython.conda");
  const std::string hash2 = sha256_hex("https://w.example.org/einops-0.8.0-py3-none-any.whl");
  const auto size = [](const std::string& hash, const char* bytes) {
    return "      " + hash.substr(0, 16) + " " + bytes + "\n";
  };
  const std::string text = write_lock(example());
  EXPECT_EQ(
      text,
      "# Made by pinstep; to be changed by pinstep only. Format: conda-lock.yml version 1 (CEP 37), so that\n"
      "# conda-lock and micromamba install it as well.\n"
      "version: 1\n"
      "metadata:\n"
      "  content_hash:\n"
      "    linux-64: " +
          std::string(64, 'c') +
          "\n"
          "  channels:\n"
          "  - url: c\n"
          "    used_env_vars: []\n"
          "  - url: https://x.example.org/d\n"
          "    used_env_vars: []\n"
          "  platforms:\n"
          "  - linux-64\n"
          "  sources:\n"
          "  - environment.yml\n"
          "  custom_metadata:\n"
          "    pinstep.channel.c: https://h.example.org/c\n"
          "    pinstep.solver: 'py-rattler 0.28.0'\n"
          "    pinstep.variable.A: 'yes'\n"
          "    pinstep.variable.B: \"a b%\\n\"\n"
          "    pinstep.sizes: |-\n" +
          (hash0 < hash1 ? size(hash0, "2562") + size(hash1, "31000000")
                         : size(hash1, "31000000") + size(hash0, "2562")) +
          "package:\n"
          "- name: _libgcc_mutex\n"
          "  version: '0.1'\n"
          "  manager: conda\n"
          "  platform: linux-64\n"
          "  dependencies: {}\n"
          "  url: https://h.example.org/c/linux-64/_libgcc_mutex-0.1-conda_forge.conda\n"
          "  hash:\n"
          "    md5: " +
          std::string(32, 'd') +
          "\n"
          "    sha256: " +
          yaml_scalar(hash0) +
          "\n"
          "  category: main\n"
          "  optional: false\n"
          "- name: python\n"
          "  version: '3.12'\n"
          "  manager: conda\n"
          "  platform: linux-64\n"
          "  dependencies:\n"
          "    __glibc: '>=2.17,<3.0.a0'\n"
          "    _libgcc_mutex: '0.1'\n"
          "    tzdata: ''\n"
          "  url: https://h.example.org/c/linux-64/python-3.12-h1_0_cpython.conda\n"
          "  hash:\n"
          "    sha256: " +
          yaml_scalar(hash1) +
          "\n"
          "  category: main\n"
          "  optional: false\n"
          "- name: einops\n"
          "  version: '0.8.0'\n"
          "  manager: pip\n"
          "  platform: linux-64\n"
          "  dependencies:\n"
          "    python: '>=3.8'\n"
          "  url: https://w.example.org/einops-0.8.0-py3-none-any.whl\n"
          "  hash:\n"
          "    sha256: " +
          yaml_scalar(hash2) +
          "\n"
          "  category: main\n"
          "  optional: false\n");
}

TEST(WriteLock, IsReadBackWhole) { expect_same(read_back(example()), example()); }

TEST(WriteLock, DoesNotDependOnTheOrderOfPackages) {
  Lock other = example();
  std::reverse(other.packages.begin(), other.packages.end());
  EXPECT_EQ(write_lock(other), write_lock(example()));
}

TEST(WriteLock, KeepsWhatTheFileNameDoesNotSay) {
  Lock lock = example();
  lock.packages = {package("a", "1", "h0", "https://h.example.org/c/noarch/a-1-other_0.tar.bz2")};
  lock.channels = {{"nowhere", ""}};
  expect_same(read_back(lock), lock);
  EXPECT_NE(write_lock(lock).find("  build: h0\n"), std::string::npos);
}

TEST(WriteLock, OfAnEmptyLockIsReadBack) {
  Lock lock;
  lock.platforms = {"linux-64"};
  expect_same(read_back(lock), lock);
}

Lock random_lock(Random& random) {
  constexpr std::string_view letters = "abcxyz019_";
  constexpr std::string_view anything = "abc01 \n:#'\"\\-?[]{}&*!|>%@,=<~\xc3\xa4";
  const auto text = [&] {
    std::string made = random.text(anything, 0, 8);
    for (char& c : made)
      if ((c & 0x80) != 0) c = 'u';
    return random.one_in(5) ? made + "\xe2\x82\xac" : made;
  };
  Lock lock;
  lock.platforms = random.one_in(2) ? std::vector<std::string>{"linux-64"}
                                    : std::vector<std::string>{"linux-64", "linux-aarch64"};
  for (const std::string& platform : lock.platforms)
    if (random.one_in(2)) lock.content_hash[platform] = text();
  for (std::size_t n = random.below(3); n > 0; --n) {
    const std::string name = "c" + std::to_string(n);
    lock.channels.push_back(random.one_in(2) ? LockedChannel{name, "https://h.example.org/" + name}
                                             : LockedChannel{"file:///" + name, "file:///" + name});
    lock.sources.push_back(text());
    lock.variables["V" + std::to_string(n)] = text();
    lock.custom["k" + text()] = text();
  }
  for (std::size_t n = random.below(6); n > 0; --n) {
    const std::string name = random.text(letters, 1, 6) + std::to_string(n);
    LockedPackage made =
        random.one_in(3)
            ? wheel("w-" + random.text("abcxyz", 1, 6) + std::to_string(n), random.text("0123.", 1, 4) + "1")
            : package(name, "1" + random.text("0123.", 1, 4), random.text(letters, 1, 5));
    made.platform = random.pick(lock.platforms);
    made.category = random.one_in(3) ? "dev" : "main";
    made.optional = random.one_in(4);
    made.size = random.one_in(2) ? random.below(1'000'000'000) : 0;
    if (random.one_in(3)) made.md5 = sha256_hex(name).substr(0, 32);
    if (random.one_in(5)) made.build = random.text(letters, 1, 5);
    if (random.one_in(5)) made.sha256.clear();
    if (made.sha256.empty() && made.md5.empty()) made.size = 0;  // nothing to list it under
    for (std::size_t d = random.below(3); d > 0; --d) made.dependencies[random.text(letters, 1, 5)] = text();
    lock.packages.push_back(std::move(made));
  }
  std::sort(lock.packages.begin(), lock.packages.end(), [](const LockedPackage& a, const LockedPackage& b) {
    return std::tie(a.manager, a.name, a.platform, a.category) <
           std::tie(b.manager, b.name, b.platform, b.category);
  });
  return lock;
}

TEST(WriteLock, OfAnyLockIsReadBackWhole) {
  Random random;
  for (int i = 0; i < 500 && !HasFailure(); ++i) {
    const Lock lock = random_lock(random);
    const auto read = parse_lock(write_lock(lock), "/d/l.yml");
    ASSERT_THAT(read, Succeeds()) << random << write_lock(lock);
    expect_same(*read, lock);
    EXPECT_EQ(write_lock(*read), write_lock(lock));
    if (HasFailure()) ADD_FAILURE() << random << write_lock(lock);
  }
}

// ---- reading conda-lock's format

std::string lock_with(const std::string& packages, const std::string& metadata = "  platforms: [linux-64]\n") {
  return "version: 1\nmetadata:\n" + metadata + "package:\n" + packages;
}

const std::string kPackage =
    "- {name: a, version: '1', manager: conda, platform: linux-64, url: "
    "'https://h.example.org/c/noarch/a-1-0.conda',"
    " hash: {md5: " +
    std::string(32, '0') + "}, optional: false}\n";

std::string changed(std::string text, std::string_view from, std::string_view to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST(ParseLock, TakesLessThanItWrites) {
  const auto lock =
      parse_lock(changed(lock_with(changed(kPackage, ", optional: false", "")), "version: 1\n", ""), "l");
  ASSERT_THAT(lock, Succeeds());
  ASSERT_EQ(lock->packages.size(), 1u);
  EXPECT_EQ(lock->packages[0].build, "0");
  EXPECT_EQ(lock->packages[0].category, "main");
  EXPECT_EQ(lock->packages[0].sha256, "");
  EXPECT_EQ(lock->origin, Lock::Origin::conda_lock);
}

TEST(ParseLock, FindsTheUrlsOfChannelsInThePackages) {
  const auto lock = parse_lock(
      lock_with(kPackage,
                "  platforms: [linux-64]\n  channels: [{url: c}, {url: 'file:///d/'}, {url: e}, x]\n"),
      "l");
  ASSERT_THAT(lock, Succeeds());
  EXPECT_THAT(lock->channels, ElementsAre(LockedChannel{"c", "https://h.example.org/c"},
                                          LockedChannel{"file:///d", "file:///d"}, LockedChannel{"e", ""},
                                          LockedChannel{"x", ""}));
}

TEST(ParseLock, NormalizesTheNamesOfPipsPackages) {
  const std::string pip =
      changed(changed(kPackage, "manager: conda", "manager: pip"), "name: a", "name: Py_YAML.-x");
  EXPECT_EQ(parse_lock(lock_with(pip), "l").value().packages[0].name, "py-yaml-x");
  EXPECT_EQ(parse_lock(lock_with(kPackage), "l").value().packages[0].name, "a");
}

TEST(ParseLock, LeavesCredentialsOut) {
  const auto lock = parse_lock(
      lock_with(changed(kPackage, "//h", "//_u:p@h"),
                "  platforms: [linux-64]\n  channels: [{url: 'https://_u:p@h.example.org/t/TOKEN/c'}]\n"),
      "l");
  ASSERT_THAT(lock, Succeeds());
  EXPECT_EQ(lock->packages[0].url, "https://h.example.org/c/noarch/a-1-0.conda");
  EXPECT_EQ(lock->channels[0].name, "https://h.example.org/c");
}

constexpr const char* kMend =
    "an older version, such as git checkout brings back, or 'pinstep lock --update-all' mends it";

TEST(ParseLock, SaysWhatIsWrongAndWhere) {
  struct Case {
    std::string text;
    ErrorKind kind;
    std::string cause;
    std::string hint;
  };
  const Case cases[] = {
      {"version: 2\npackage: []\n", ErrorKind::unsupported, "l:1: a lock of version '2'",
       "pinstep reads version 1 of conda-lock's format"},
      {"version: 1\nmetadata: {platforms: [x]}\n", ErrorKind::invalid, "l:1: the lock has no list 'package'",
       ""},
      {"version: 1\npackage: []\n", ErrorKind::invalid, "l:1: the lock has no section 'metadata'", ""},
      {"version: 1\nmetadata: {sources: []}\npackage: []\n", ErrorKind::invalid,
       "l:2: the lock names no platform", ""},
      {" \n", ErrorKind::invalid, "l: the lock is empty", ""},
      {"- a\n", ErrorKind::invalid, "l:1: this is no lock", ""},
      {"version: 1\n<<<<<<< HEAD\npackage: []\n=======\npackage: []\n>>>>>>> b\n", ErrorKind::invalid,
       "l:2: a merge has left a conflict here", ""},
      {lock_with(kPackage,
                 "  platforms: [linux-64]\n  custom_metadata:\n    pinstep.solver: x\n"
                 "    pinstep.variable.MASTER_ADDR: x\n"),
       ErrorKind::invalid,
       "l:6: 'MASTER_ADDR' cannot be set here: it is the same for all processes of one step, and another in "
       "the "
       "next",
       ""},
      {lock_with(kPackage,
                 "  platforms: [linux-64]\n  custom_metadata: {'pinstep.variable.BASH_FUNC_ls%%': x}\n"),
       ErrorKind::invalid, "l:4: 'BASH_FUNC_ls%%' is not the name of a variable", ""},
      {"version: 6\nenvironments: {}\npackages: []\n", ErrorKind::invalid,
       "l:2: there is no environment 'default'", "'pixi lock' makes it anew"},
      {lock_with("- {name: a, version: '1', platform: linux-64, url: u}\n"), ErrorKind::invalid,
       "l:5: 'a' has no 'manager', 'hash'", ""},
      {lock_with(kPackage + kPackage), ErrorKind::invalid, "l:6: 'a' stands in line 5 already", ""},
      {lock_with(changed(kPackage, "manager: conda", "manager: npm")), ErrorKind::invalid,
       "l:5: 'a' is managed by 'npm'", "pinstep installs packages of conda and pip"},
      {lock_with(changed(kPackage, "name: a", "name: ../a")), ErrorKind::invalid,
       "l:5: '../a' with version '1' is not a package", ""},
      {lock_with(changed(kPackage, "'1'", "'1/2'")), ErrorKind::invalid,
       "l:5: 'a' with version '1/2' is not a package", ""},
      {lock_with(changed(kPackage, "a-1-0.conda", "a-1.conda")), ErrorKind::invalid,
       "l:5: 'https://h.example.org/c/noarch/a-1.conda' is not a conda package",
       "its file name is NAME-VERSION-BUILD.conda or .tar.bz2"},
      {lock_with(changed(kPackage, "optional", "build: '..', optional")), ErrorKind::invalid,
       "l:5: '..' is not a build string", ""},
      {lock_with(changed(kPackage, "md5: 0", "md5: g")), ErrorKind::invalid,
       "l:5: the hash of 'a' is not made of hex digits", ""},
      {lock_with(changed(kPackage, "md5: 0", "sha256: 0")), ErrorKind::invalid,
       "l:5: the hash of 'a' is not made of hex digits", ""},
      {lock_with(changed(kPackage, "platform: linux-64", "platform: osx-64")), ErrorKind::invalid,
       "l: 'a' is for 'osx-64', which 'platforms' does not have", ""},
      {lock_with(changed(kPackage, "optional", "dependencies: [b], optional")), ErrorKind::invalid,
       "l:5: 'dependencies' is not made of lines 'name: constraint'", ""},
  };
  for (const Case& c : cases)
    EXPECT_THAT(parse_lock(c.text, "l"), FailsWith(c.kind, c.cause, c.hint.empty() ? kMend : c.hint)) << c.text;
}

TEST(ParseLock, GivesAnErrorOrALockForAnyChangeOfAGoodOne) {
  Random random;
  const std::string good = write_lock(example());
  for (int i = 0; i < 1000; ++i) {
    std::string text = good;
    for (std::size_t n = random.between(1, 3); n > 0; --n) {
      const std::size_t at = random.below(text.size());
      if (random.one_in(2))
        text.erase(at, random.between(1, 40));
      else
        text.insert(at, random.text("\n :-#{}[]'\"@EXPLICIT&*", 1, 4));
    }
    const auto lock = parse_lock(text, "l");
    EXPECT_TRUE(lock || lock.error().cause.starts_with("l:")) << random << text;
  }
}

// ---- explicit files

TEST(ParseExplicit, ReadsPackagesWithAndWithoutHashes) {
  const std::string md5(32, 'a'), sha256(64, 'b');
  const auto lock = parse_lock(
      "# platform: linux-64\n@EXPLICIT\n"
      "https://_u:p@h.example.org/t/TOKEN/c/linux-64/a-b-1.0-h_0.tar.bz2#" +
          md5 +
          "\n"
          "# a comment\r\n\n"
          "https://h.example.org/c/noarch/c-2-0.conda#" +
          sha256 +
          "\r\n"
          "../pkgs/d-3-0.conda#sha256:" +
          sha256 +
          "\n"
          "/abs/e f/g-4-0.conda\n",
      "/d/x/l.txt");
  ASSERT_THAT(lock, Succeeds());
  EXPECT_EQ(lock->origin, Lock::Origin::explicit_list);
  EXPECT_THAT(lock->platforms, ElementsAre("linux-64"));
  ASSERT_EQ(lock->packages.size(), 4u);
  const LockedPackage& first = lock->packages[0];
  EXPECT_EQ(first.name + " " + first.version + " " + first.build + " " + first.platform,
            "a-b 1.0 h_0 linux-64");
  EXPECT_EQ(first.url, "https://h.example.org/c/linux-64/a-b-1.0-h_0.tar.bz2");
  EXPECT_EQ(first.md5, md5);
  EXPECT_EQ(lock->packages[1].sha256, sha256);
  EXPECT_EQ(lock->packages[2].url, "file:///d/pkgs/d-3-0.conda");
  EXPECT_EQ(lock->packages[2].sha256, sha256);
  EXPECT_EQ(lock->packages[3].url, "file:///abs/e%20f/g-4-0.conda");
  EXPECT_THAT(lock->notes, ElementsAre("/d/x/l.txt: 1 of 4 packages have no hash"));
}

TEST(ParseExplicit, ReadsUtf16AsWindowsShellsWriteIt) {
  std::string text = "\xff\xfe";
  for (const char c : std::string("@EXPLICIT\r\nhttps://h.example.org/c/linux-64/a-1-0.conda\r\n"))
    text += {c, '\0'};
  EXPECT_EQ(file_kind(text), FileKind::lock);
  EXPECT_EQ(parse_lock(text, "/l").value().packages[0].name, "a");
}

TEST(ParseExplicit, TakesThePlatformFromTheFirstUrlThatHasOne) {
  const auto lock = parse_lock(
      "@EXPLICIT\nhttps://h.example.org/c/noarch/a-1-0.conda\n"
      "https://h.example.org/c/linux-aarch64/b-1-0.conda\n",
      "/l");
  ASSERT_THAT(lock, Succeeds());
  EXPECT_THAT(lock->platforms, ElementsAre("linux-aarch64"));
  EXPECT_EQ(lock->packages[0].platform, "linux-aarch64");
}

TEST(ParseExplicit, DecodesWhatAUrlHasEscaped) {
  const auto lock = parse_lock("@EXPLICIT\nhttps://h.example.org/c/linux-64/a-1%212.0-0.conda\n", "/l");
  ASSERT_THAT(lock, Succeeds());
  EXPECT_EQ(lock->packages[0].version, "1!2.0");
}

TEST(ParseExplicit, SaysWhatIsWrongAndWhere) {
  struct Case {
    std::string text, cause, hint;
  };
  const Case cases[] = {
      {"@EXPLICIT\n", "/l:1: there is no package in the file", ""},
      {"@EXPLICIT\nhttps://h.example.org/c/noarch/a-1-0.conda\n",
       "/l:1: nothing says for which platform this is", "add a line '# platform: linux-64'"},
      {"@EXPLICIT\nnumpy=1.26\n", "/l:2: 'numpy=1.26' is not the place of a package",
       "its file name is NAME-VERSION-BUILD.conda or .tar.bz2"},
      {"@EXPLICIT\nhttps://h.example.org/c/linux-64/a-1-0.conda#zz\n",
       "/l:2: '#zz' is neither an md5 nor a sha256", "they have 32 and 64 hex digits"},
      {"@EXPLICIT\n~/a-1-0.conda\n", "/l:2: '~/a-1-0.conda' is not expanded", "write the whole path"},
      {"@EXPLICIT\n$D/a-1-0.conda\n", "/l:2: '$D/a-1-0.conda' is not expanded", "write the whole path"},
      {"# platform: linux-64\n@EXPLICIT\nhttps://h.example.org/c/osx-64/a-1-0.conda\n",
       "/l: 'a' is for osx-64, other packages are for linux-64", ""},
  };
  for (const Case& c : cases)
    EXPECT_THAT(parse_lock(c.text, "/l"), FailsWith(ErrorKind::invalid, c.cause, c.hint)) << c.text;
}

// ---- what is in it

TEST(PackagesFor, AreThoseOfThePlatformAndTheCategoriesSortedAndOnce) {
  Lock lock;
  lock.platforms = {"linux-64", "linux-aarch64"};
  lock.packages = {wheel("a", "1"),        package("b", "1", "0"), package("a", "1", "0"),
                   package("a", "1", "0"), package("c", "1", "0"), package("d", "1", "0")};
  lock.packages[3].category = "dev";
  lock.packages[4].category = "test";
  lock.packages[5].platform = "linux-aarch64";
  const auto names = [&](std::string_view platform, const std::vector<std::string>& categories) {
    const auto packages = lock.packages_for(platform, categories).value();
    std::string text;
    for (const LockedPackage& chosen : packages)
      text += chosen.name + (chosen.manager == Manager::pip ? "* " : " ");
    return text;
  };
  EXPECT_EQ(names("linux-64", {"main", "dev"}), "a b a* ");
  EXPECT_EQ(names("linux-64", {"dev", "test"}), "a c ");
  EXPECT_EQ(names("linux-aarch64", {"main"}), "d ");
  EXPECT_EQ(names("linux-aarch64", {"dev"}), "");
  EXPECT_THAT(lock.packages_for("osx-64"),
              FailsWith(ErrorKind::invalid, "the lock is for linux-64, linux-aarch64, not for osx-64"));
}

TEST(PackagesFor, RefuseTwoArtifactsUnderOneName) {
  Lock lock;
  lock.platforms = {"linux-64"};
  lock.packages = {package("a", "1", "0"), package("a", "1", "1")};
  lock.packages[1].category = "dev";
  EXPECT_THAT(lock.packages_for("linux-64"),
              FailsWith(ErrorKind::conflict,
                        "the lock has 'a' as https://h.example.org/c/linux-64/a-1-0.conda and as "
                        "https://h.example.org/c/linux-64/a-1-1.conda"));
  EXPECT_THAT(lock.packages_for("linux-64", {"main"}), Succeeds());
}

TEST(LockPathOf, LiesBesideTheSpec) {
  for (const auto& [spec, lock] : std::map<std::string, std::string>{
           {"environment.yml", "environment-lock.yml"},
           {"/a.b/env.gpu.yml", "/a.b/env.gpu-lock.yml"},
           {"/a.b/env", "/a.b/env-lock.yml"},
           {"/a/.hidden", "/a/.hidden-lock.yml"},
           {"x.yaml", "x-lock.yml"},
       })
    EXPECT_EQ(lock_path_of(spec), lock);
}

TEST(FileKindOf, FollowsFromTheContent) {
  const std::pair<std::string, FileKind> cases[] = {
      {"name: a\ndependencies:\n- b\n", FileKind::spec},
      {"\"dependencies\": [b]\n", FileKind::spec},
      {"channels: [a]\n", FileKind::spec},
      {std::string("\xff\xfe"
                   "d\0e\0p\0e\0n\0d\0e\0n\0c\0i\0e\0s\0:\0 \0[\0]\0\n\0",
                   34),
       FileKind::spec},
      {write_lock(example()), FileKind::lock},
      {"version: 6\nenvironments: {}\npackages: []\n", FileKind::lock},
      {"version: -1\n", FileKind::lock},
      {"# c\n@EXPLICIT\r\nx\n", FileKind::lock},
      {"", FileKind::unknown},
      {"numpy==1.0\n", FileKind::unknown},
      {"[project]\nname = \"x\"\n", FileKind::unknown},
      {"a: b\n", FileKind::unknown},
      {"\xff\xff", FileKind::unknown},
  };
  for (const auto& [text, kind] : cases) EXPECT_EQ(file_kind(text), kind) << shown(text);
}

// ---- identity

TEST(IdentityText, IsAsTheFormatNoteSays) {
  const auto text = identity_text(example(), "linux-64", {});
  ASSERT_THAT(text, Succeeds());
  EXPECT_EQ(*text,
            "pinstep-environment 1\n"
            "layout 1\n"
            "recorder 2\n"
            "compile yes\n"
            "link-scripts refuse\n"
            "platform linux-64\n"
            "conda _libgcc_mutex 0.1 conda_forge " +
                example().packages[0].sha256 +
                "\n"
                "conda python 3.12 h1_0_cpython " +
                example().packages[1].sha256 +
                "\n"
                "variable A yes\n"
                "variable B a%20b%25%0A\n"
                "wheel einops 0.8.0 " +
                example().packages[2].sha256 + "\n");
  EXPECT_EQ(environment_id(example(), "linux-64", {}).value(), sha256_hex(*text));
}

TEST(EnvironmentId, DoesNotDependOnWhatDoesNotDecideTheContent) {
  const auto id = environment_id(example(), "linux-64", {});
  Lock other = example();
  std::reverse(other.packages.begin(), other.packages.end());
  for (LockedPackage& changed : other.packages) {
    changed.url = "https://mirror.example.org" + changed.url.substr(changed.url.rfind('/'));
    changed.size = 7;
    changed.md5.clear();
    changed.category = "dev";
    changed.optional = true;
    changed.dependencies.clear();
  }
  other.channels.clear();
  other.content_hash.clear();
  other.sources = {"other.yml"};
  other.custom.clear();
  EXPECT_EQ(environment_id(other, "linux-64", {}).value(), id.value());
  EXPECT_EQ(environment_id(read_back(other), "linux-64", {}).value(), id.value());
}

TEST(EnvironmentId, DependsOnWhatDecidesTheContent) {
  const std::string id = environment_id(example(), "linux-64", {}).value();
  const auto differs = [&](auto change) {
    Lock lock = example();
    BuildOptions options;
    change(lock, options);
    return environment_id(lock, "linux-64", options).value() != id;
  };
  EXPECT_TRUE(differs([](Lock& lock, BuildOptions&) { lock.packages[0].sha256[0] ^= 1; }));
  EXPECT_TRUE(differs([](Lock& lock, BuildOptions&) { lock.packages.pop_back(); }));
  EXPECT_TRUE(differs([](Lock& lock, BuildOptions&) { lock.packages[0].build = "x"; }));
  EXPECT_TRUE(differs([](Lock& lock, BuildOptions&) { lock.variables["A"] = "no"; }));
  EXPECT_TRUE(differs([](Lock& lock, BuildOptions&) { lock.variables["C"] = ""; }));
  EXPECT_TRUE(differs([](Lock&, BuildOptions& options) { options.compile = false; }));
}

TEST(EnvironmentId, NeedsASha256OfEveryArtifact) {
  Lock lock = example();
  lock.packages[1].sha256.clear();
  EXPECT_THAT(environment_id(lock, "linux-64", {}),
              FailsWith(ErrorKind::invalid, "the lock has no sha256 for 'python'",
                        "'pinstep lock' makes locks that name every artifact by its sha256"));
  EXPECT_THAT(environment_id(lock, "osx-64", {}),
              FailsWith(ErrorKind::invalid, "the lock is for linux-64, not for osx-64"));
}

// ---- real files

class RealLocks : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = testing_support::testdata("conda/locks");
    if (directory_.empty()) GTEST_SKIP() << "no test data: conda/locks";
  }
  Result<Lock> load(const std::string& name) { return load_lock(directory_ + "/" + name); }

  // "24 + 4": packages of conda and of pip.
  static std::string counts(const Lock& lock, std::string_view platform,
                            const std::vector<std::string>& categories = {"main", "dev"}) {
    const auto packages = lock.packages_for(platform, categories);
    if (!packages) return packages.error().cause;
    const auto conda = std::count_if(packages->begin(), packages->end(),
                                     [](const LockedPackage& p) { return p.manager == Manager::conda; });
    return std::to_string(conda) + " + " + std::to_string(static_cast<long>(packages->size()) - conda);
  }

  std::string directory_;
};

TEST_F(RealLocks, HaveThePackagesThatTheirAuthorsSay) {
  struct Case {
    const char* name;
    const char* platform;
    std::vector<std::string> categories;
    const char* counts;
  };
  const Case cases[] = {
      {"conda-lock--test-install-with-pip-deps.conda-lock.yml", "linux-64", {"main"}, "24 + 4"},
      {"conda-lock--test-install-with-pip-deps.conda-lock.yml", "linux-aarch64", {"main"}, "23 + 4"},
      {"conda-lock--test-multiple-categories.conda-lock.yml", "linux-64", {"main"}, "20 + 0"},
      {"conda-lock--test-multiple-categories.conda-lock.yml", "linux-64", {"dev"}, "21 + 0"},
      {"conda-lock--test-multiple-categories.conda-lock.yml", "linux-64", {"test"}, "74 + 0"},
      {"conda-lock--test-multiple-categories.conda-lock.yml", "linux-64", {"main", "dev", "test"}, "101 + 0"},
      {"conda-lock--test-explicit-toposorted.conda-lock.yml", "linux-64", {"main", "dev"}, "123 + 4"},
      {"rattler--pypi-matplotlib-conda-lock.yml", "linux-64", {"main"}, "24 + 12"},
      {"mamba--test-env-lock-pip-git-https.yaml", "linux-64", {"main"}, "23 + 2"},
      {"mamba--good_overlap_categories-lock.yaml", "linux-64", {"foo"}, "1 + 1"},
      {"mamba--good_overlap_categories-lock.yaml", "linux-64", {"bar"}, "2 + 3"},
      {"mamba--good_overlap_categories-lock.yaml", "linux-64", {"foo", "bar"}, "2 + 3"},
  };
  for (const Case& c : cases) {
    const auto lock = load(std::string("conda-lock-v1/") + c.name);
    ASSERT_THAT(lock, Succeeds()) << c.name;
    EXPECT_EQ(counts(*lock, c.platform, c.categories), c.counts) << c.name << " " << c.platform;
  }
}

TEST_F(RealLocks, OfPixiHaveThePackagesThatTheirAuthorsSay) {
  struct Case {
    const char *name, *part, *platform, *counts;
  };
  for (const Case& c : {Case{"pixi--v6-solve-groups", "", "linux-64", "32 + 10"},
                        Case{"pixi--v6-solve-groups", "min-py38", "linux-64", "35 + 10"},
                        Case{"pixi--v6-solve-groups", "max-py310", "linux-64", "39 + 0"},
                        Case{"pixi--v7-multi-machine", "", "linux-64", "133 + 0"},
                        Case{"pixi--v7-multi-machine", "@p2", "linux-64", "133 + 0"},
                        Case{"pixi--v7-multi-machine", "", "osx-arm64", "125 + 0"},
                        Case{"pixi--v7-multi-machine", "default@p1", "win-64", "125 + 0"},
                        Case{"pixi--v7-conditional-dependency-cuda", "", "linux-64", "1 + 0"},
                        Case{"pixi--v7-conditional-dependency-cuda", "@linux-64-cuda", "linux-64", "2 + 0"}}) {
    const auto lock = load_lock(directory_ + "/pixi/" + c.name + ".pixi.lock", c.part);
    ASSERT_THAT(lock, Succeeds()) << c.name;
    EXPECT_EQ(counts(*lock, c.platform), c.counts) << c.name << " " << c.part;
    EXPECT_EQ(write_lock(parse_lock(write_lock(*lock), "l").value()), write_lock(*lock)) << c.name;
  }
}

TEST_F(RealLocks, AreWrittenSoThatNothingIsLost) {
  for (const auto& entry : std::filesystem::directory_iterator(directory_ + "/conda-lock-v1")) {
    Lock lock = load_lock(entry.path()).value();
    const auto again = parse_lock(write_lock(lock), entry.path());
    ASSERT_THAT(again, Succeeds()) << entry.path();
    EXPECT_EQ(write_lock(*again), write_lock(lock)) << entry.path();
    EXPECT_TRUE(std::is_permutation(lock.packages.begin(), lock.packages.end(), again->packages.begin(),
                                    again->packages.end()))
        << entry.path();
  }
}

TEST_F(RealLocks, KnowTheirChannelsUrls) {
  const Lock lock = load("conda-lock-v1/conda-lock--test-multiple-categories.conda-lock.yml").value();
  ASSERT_EQ(lock.channels.size(), 1u);
  EXPECT_EQ(lock.channels[0].name, "conda-forge");
  EXPECT_TRUE(lock.channels[0].url.ends_with("/conda-forge")) << lock.channels[0].url;
}

TEST_F(RealLocks, HaveNoIdWithACommitInPlaceOfADigest) {
  const Lock lock = load("conda-lock-v1/mamba--test-env-lock-pip-git-https.yaml").value();
  EXPECT_THAT(environment_id(lock, "linux-64", {}),
              FailsWith(ErrorKind::invalid, "the lock has no sha256 for 'python-dateutil'",
                        "'pinstep lock' makes locks that name every artifact by its sha256"));
  EXPECT_THAT(environment_id(load("conda-lock-v1/conda-lock--test-explicit-toposorted.conda-lock.yml").value(),
                             "linux-64", {}),
              Succeeds());
}

TEST_F(RealLocks, AreExplicitFilesToo) {
  struct Case {
    const char* name;
    std::size_t count, with_md5;
  };
  for (const Case& c :
       {Case{"conda-lock--zlib-conda-linux-64.lock", 6, 6}, Case{"mamba--explicit_env_linux.txt", 15, 15},
        Case{"rattler--explicit-env-linux-64.txt", 22, 22}, Case{"rattler--ros-noetic_linux-64.txt", 568, 0},
        Case{"rattler--xtensor_linux-64.txt", 7, 7}}) {
    const auto lock = load(std::string("explicit/") + c.name);
    ASSERT_THAT(lock, Succeeds()) << c.name;
    EXPECT_EQ(lock->packages.size(), c.count) << c.name;
    EXPECT_EQ(std::count_if(lock->packages.begin(), lock->packages.end(),
                            [](const LockedPackage& p) { return !p.md5.empty(); }),
              static_cast<long>(c.with_md5))
        << c.name;
    EXPECT_THAT(lock->platforms, ElementsAre("linux-64")) << c.name;
    EXPECT_EQ(lock->notes.empty(), c.with_md5 > 0) << c.name;
  }
}

TEST_F(RealLocks, AreRefusedWithTheCause) {
  const std::string bad = directory_ + "/bad/";
  EXPECT_THAT(
      load("bad/mamba--bad_package-lock.yaml"),
      FailsWith(ErrorKind::invalid,
                bad + "mamba--bad_package-lock.yaml:4: '_libgcc_mutex' has no 'manager', 'hash'", kMend));
  EXPECT_EQ(load("bad/mamba--bad_version-lock.yaml").error().cause,
            bad + "mamba--bad_version-lock.yaml:1: a lock of version '-1'");
  for (const char* name : {"duplicate_platform_definition", "missing_platform"})
    EXPECT_THAT(load(std::string("bad/rattler--v7-") + name + ".yml").error().cause,
                testing::HasSubstr("platform"))
        << name;
}

TEST_F(RealLocks, AreAllKnownAsLocks) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path());
    std::ostringstream text;
    text << file.rdbuf();
    EXPECT_EQ(file_kind(text.str()), FileKind::lock) << entry.path();
  }
}

}  // namespace
}  // namespace pinstep
