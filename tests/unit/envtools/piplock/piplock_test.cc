#include "envtools/piplock/piplock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "envtools/piplock/merge.h"
#include "envtools/piplock/requirements.h"
#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing_support::FailsWith;
using testing_support::Succeeds;

const std::string kA(64, 'a'), kB(64, 'b');
const PythonTarget kTarget{"3.12.4", "x86_64", "2.28"};

std::string changed(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

const std::string kPylock =
    "lock-version = \"1.0\"\nrequires-python = \">=3.10\"\ncreated-by = \"x\"\n"
    "extras = [\"gpu\"]\ndependency-groups = [\"dev\"]\ndefault-groups = [\"dev\"]\n"
    "[[packages]]\nname = \"Numpy\"\nversion = \"2.0\"\n"
    "sdist = { url = \"https://w.example.org/numpy-2.0.tar.gz\", hashes = { sha256 = \"" +
    kB +
    "\" } }\n"
    "wheels = [\n"
    "  { url = \"https://u:p@w.example.org/numpy-2.0-cp312-cp312-manylinux_2_17_x86_64.whl\", "
    "size = 77, hashes = { sha256 = \"" +
    kA +
    "\" } },\n"
    "  { url = \"https://w.example.org/numpy-2.0-cp312-cp312-win_amd64.whl\", hashes = { sha256 = \"" +
    kB +
    "\" } },\n]\n"
    "[[packages]]\nname = \"pywin32\"\nversion = \"1\"\nmarker = \"sys_platform == 'win32'\"\n"
    "[[packages]]\nname = \"tester\"\nversion = \"3\"\nmarker = \"'dev' in dependency_groups\"\n"
    "wheels = [{ name = \"tester-3-py3-none-any.whl\", path = \"w/x%20y\", hashes = { sha256 = \"" +
    kB +
    "\" } }]\n"
    "[[packages]]\nname = \"mine\"\ndirectory = { path = \".\", editable = true }\n";

std::vector<std::string> names(const ChosenWheels& chosen) {
  std::vector<std::string> found;
  for (const LockedPackage& package : chosen.packages) found.push_back(package.name + " " + package.version);
  return found;
}

Result<ChosenWheels> choose(const std::string& text, const PipChoice& choice = {},
                            const PythonTarget& target = kTarget) {
  const auto lock = parse_pip_lock(text, "/d/l.toml");
  if (!lock) return tl::unexpected(lock.error());
  return choose_wheels(*lock, target, "linux-64", choice, "/d/l.toml");
}

TEST(Pylock, GivesTheWheelsThatFit) {
  EXPECT_EQ(pip_lock_kind(kPylock), PipLockKind::pylock);
  const auto chosen = choose(kPylock);
  ASSERT_THAT(chosen, Succeeds());
  EXPECT_THAT(names(*chosen), ElementsAre("numpy 2.0", "tester 3"));
  const LockedPackage& numpy = chosen->packages[0];
  EXPECT_EQ(numpy.url, "https://w.example.org/numpy-2.0-cp312-cp312-manylinux_2_17_x86_64.whl");
  EXPECT_EQ(numpy.sha256, kA);
  EXPECT_EQ(numpy.size, 77u);
  EXPECT_EQ(numpy.manager, Manager::pip);
  EXPECT_EQ(numpy.platform, "linux-64");
  EXPECT_EQ(chosen->packages[1].url, "file:///d/w/x%2520y");
  EXPECT_THAT(chosen->notes,
              ElementsAre("/d/l.toml:24: 'mine' is code of yours in '.', which no environment has in it"));
  EXPECT_THAT(names(*choose(kPylock, {{}, {"other"}})), ElementsAre("numpy 2.0"));
}

TEST(Pylock, SaysWhatIsWrongAndWhere) {
  struct Case {
    std::string text, cause;
    PythonTarget target = kTarget;
  };
  const Case cases[] = {
      {changed(kPylock, "\"1.0\"", "\"2.0\""), "/d/l.toml:1: a lock of version '2.0'"},
      {"lock-version = \"1.0\"\n", "/d/l.toml:1: the lock has no packages"},
      {changed(kPylock, "name = \"Numpy\"\n", ""), "/d/l.toml:7: a package has no name"},
      {changed(kPylock, kA, "xy"), "/d/l.toml:7: the wheel of 'numpy' has no version, place or sha256"},
      {changed(kPylock, "sys_platform == 'win32'", "what"),
       "/d/l.toml:15: 'what' is not a marker that pinstep understands"},
      {kPylock,
       "/d/l.toml:1: Python >=3.10 is wanted, and this is for Python 3.9.1",
       {"3.9.1", "x86_64", "2.28"}},
      {kPylock,
       "/d/l.toml:7: 'numpy' has no wheel for Python 3.13.0 on linux-64 with glibc 2.28",
       {"3.13.0", "x86_64", "2.28"}},
      {changed(kPylock, ", editable = true", ""), "/d/l.toml:24: 'mine' comes from '.', which has to be built"},
      {kPylock +
           "[[packages]]\nname = \"numpy\"\nversion = \"1\"\nwheels = [{ url = "
           "\"https://w.example.org/numpy-1-py3-none-any.whl\", hashes = { sha256 = \"" +
           kA + "\" } }]\n",
       "/d/l.toml:27: 'numpy' is wanted in two versions"},
  };
  for (const Case& c : cases) {
    const auto chosen = choose(c.text, {}, c.target);
    ASSERT_FALSE(chosen) << c.cause;
    EXPECT_EQ(chosen.error().cause, c.cause);
  }
}

std::string wheel(const std::string& name, const std::string& version) {
  return "wheels = [{ url = \"https://w.example.org/" + name + "-" + version +
         "-py3-none-any.whl\", hash = \"sha256:" + kA + "\", size = 5 }]\n";
}

std::string uv_package(const std::string& name, const std::string& version, const std::string& more = "") {
  return "[[package]]\nname = \"" + name + "\"\nversion = \"" + version +
         "\"\nsource = { registry = \"https://index.example/simple\" }\n" + wheel(name, version) + more;
}

const std::string kUv =
    "version = 1\nrevision = 2\nrequires-python = \">=3.10\"\n" +
    uv_package("a", "1",
               "dependencies = [{ name = \"b\" }, { name = \"w\", marker = \"sys_platform == 'win32'\" }]\n") +
    uv_package("b", "1", "[package.optional-dependencies]\nfast = [{ name = \"d\" }]\n") +
    uv_package("c", "1", "dependencies = [{ name = \"c2\", version = \"2\" }]\n") + uv_package("c2", "1") +
    uv_package("c2", "2") + uv_package("d", "1", "dependencies = [{ name = \"a\" }]\n") + uv_package("w", "1") +
    "[[package]]\nname = \"project\"\nversion = \"0.1\"\nsource = { editable = \".\" }\n"
    "dependencies = [\n  { name = \"a\" },\n  { name = \"b\", extra = [\"fast\"] },\n]\n"
    "[package.optional-dependencies]\nplot = [{ name = \"c\" }]\n"
    "[package.dev-dependencies]\ndev = [{ name = \"w\" }]\n";

TEST(UvLock, GivesWhatTheProjectReaches) {
  EXPECT_EQ(pip_lock_kind(kUv), PipLockKind::uv);
  const auto chosen = choose(kUv);
  ASSERT_THAT(chosen, Succeeds());
  EXPECT_THAT(names(*chosen), testing::UnorderedElementsAre("a 1", "b 1", "d 1"));
  EXPECT_THAT(chosen->packages[0].dependencies, ElementsAre(Pair("b", "")));
  EXPECT_THAT(chosen->notes, ElementsAre(HasSubstr("'project' is code of yours in '.'")));
  EXPECT_THAT(names(*choose(kUv, {{"plot"}, {"dev"}})),
              testing::UnorderedElementsAre("a 1", "b 1", "d 1", "c 1", "c2 2", "w 1"));
}

TEST(UvLock, SaysWhatIsWrongAndWhere) {
  const std::pair<std::string, const char*> cases[] = {
      {changed(kUv, "version = 1", "version = 2"), "/d/l.toml:1: a uv.lock of version '2'"},
      {changed(kUv, "{ editable = \".\" }", "{ git = \"https://h.example.org/x\" }"),
       "/d/l.toml:1: the lock is of no project, so nothing says what of it is wanted"},
      {changed(kUv, "  { name = \"a\" },", "  { name = \"gone\" },"),
       "/d/l.toml:49: 'gone' is not among the packages of the lock"},
      {changed(kUv, "{ registry = \"https://index.example/simple\" }\n" + wheel("a", "1"),
               "{ git = \"https://h.example.org/a\" }\n"),
       "/d/l.toml:4: 'a' comes from 'git+https://h.example.org/a', which has to be built"},
      {changed(kUv, wheel("a", "1"), ""),
       "/d/l.toml:4: 'a' has no wheel for Python 3.12.4 on linux-64 with glibc 2.28"},
  };
  for (const auto& [text, cause] : cases) {
    const auto chosen = choose(text);
    ASSERT_FALSE(chosen) << cause;
    EXPECT_EQ(chosen.error().cause, cause);
  }
  EXPECT_EQ(choose("[[package]]\nname = \"a\"\nversion = \"1\"\n[metadata]\nlock-version = "
                   "\"2.0\"\ncontent-hash = \"x\"\n")
                .error()
                .cause,
            "/d/l.toml:4: poetry.lock is not read");
  EXPECT_EQ(choose(kUv, {{"nope"}, {}}).error().cause, "/d/l.toml:1: no project has an extra 'nope'");
  EXPECT_EQ(choose(kUv, {{}, {"nope"}}).error().cause, "/d/l.toml:1: no project has a group 'nope'");
}

// ---- requirements

TEST(AllowedHashes, AreThoseOfALineThatGoesOn) {
  const auto lines =
      requirement_lines("numpy==2.0 \\\n    --hash=sha256:aa \\\n    --hash=sha256:BB  # two\nlast==1\n");
  EXPECT_THAT(allowed_hashes(lines), ElementsAre(Pair("numpy", ElementsAre("aa", "bb"))));
}

TEST(PipLockKindOf, FollowsFromTheContent) {
  EXPECT_EQ(pip_lock_kind("numpy==2.0 \\\n  --hash=sha256:aa\n"), PipLockKind::requirements);
  EXPECT_EQ(pip_lock_kind("numpy==2.0\n# --hash=sha256:aa\n"), PipLockKind::none);
  EXPECT_EQ(pip_lock_kind("  - pip:\n    - numpy==2.0 --hash=sha256:aa\n"), PipLockKind::none);
  EXPECT_EQ(pip_lock_kind("version: 6\npackages: []\n"), PipLockKind::none);
  EXPECT_EQ(pip_lock_kind(""), PipLockKind::none);
}

TEST(CheckAllowed, TakesOnlyWheelsThatTheFileHas) {
  Lock lock;
  LockedPackage made;
  made.manager = Manager::pip;
  made.name = "numpy";
  made.url = "https://w.example.org/numpy-2.0-py3-none-any.whl";
  made.sha256 = kA;
  lock.packages = {made};
  EXPECT_THAT(check_allowed(lock, {{"Numpy==2.0 --hash=sha256:" + kA, 1}}, "r"), Succeeds());
  EXPECT_THAT(check_allowed(lock, {{"numpy==2.0 --hash=sha256:" + kB, 1}}, "r").error().cause,
              HasSubstr("'numpy-2.0-py3-none-any.whl' has none of the hashes"));
  EXPECT_THAT(check_allowed(lock, {}, "r").error().cause, HasSubstr("'numpy' is needed and not in the file"));
}

// ---- beside conda packages

Lock conda_half(std::vector<std::pair<std::string, std::string>> more = {}) {
  Lock lock;
  lock.platforms = {"linux-64"};
  more.insert(more.begin(), {"python", "3.12.4"});
  for (const auto& [name, version] : more) {
    LockedPackage made;
    made.name = name;
    made.version = version;
    made.platform = "linux-64";
    if (name != "python") made.dependencies["python"] = "";
    lock.packages.push_back(made);
  }
  return lock;
}

TEST(AddWheels, StandBesideWhatCondaBrings) {
  const PipLock pip = parse_pip_lock(kPylock, "/d/l").value();
  Lock lock = conda_half();
  ASSERT_THAT(add_wheels(lock, pip, {}, {{"linux-64", "2.28"}}, "/d/l"), Succeeds());
  EXPECT_EQ(lock.packages.size(), 3u);
  Lock same = conda_half({{"numpy", "2.0"}});
  ASSERT_THAT(add_wheels(same, pip, {}, {{"linux-64", "2.28"}}, "/d/l"), Succeeds());
  EXPECT_EQ(same.packages.size(), 3u);
  Lock other = conda_half({{"numpy", "1.26"}});
  EXPECT_THAT(add_wheels(other, pip, {}, {{"linux-64", "2.28"}}, "/d/l"),
              FailsWith(ErrorKind::conflict, "/d/l: 'numpy' is wanted as 2.0, and conda brings 1.26",
                        "a package is either conda's or pip's: lock it in the version that conda has"));
  Lock none;
  none.platforms = {"linux-64"};
  EXPECT_THAT(add_wheels(none, pip, {}, {{"linux-64", "2.28"}}, "/d/l").error().cause,
              HasSubstr("have no python"));
}

}  // namespace
}  // namespace pinstep
