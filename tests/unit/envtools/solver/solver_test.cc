#include "envtools/solver/solver.h"

#include "envtools/base/fd.h"
#include "envtools/json/json.h"
#include "tests/unit/support/files.h"
#include "tests/unit/support/random.h"
#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing_support::FailsWith;
using testing_support::TemporaryDirectory;
using testing_support::write_file;

const std::string kDigest(64, 'a');
constexpr const char* kMend = "was it changed by hand? pinstep setup makes it anew";

SolveRequest a_request() {
  SolveRequest request;
  request.platform = "linux-64";
  request.cache = "/cache";
  request.channels = {{"conda-forge", "https://example.org/conda-forge"}};
  request.specs = {{"python 3.11.*", 3}, {"numpy", 4}};
  request.path = "/w/environment.yml";
  request.virtual_packages = {{"__archspec", "1", "x86_64"}, {"__glibc", "2.28", ""}};
  return request;
}

// An answer of one package with this instead of its own fields.
std::string answer_with(const std::string& fields) {
  Json package = {{"name", "numpy"},
                  {"version", "1.26"},
                  {"build", "py311_0"},
                  {"sha256", kDigest},
                  {"url", "https://example.org/c/linux-64/numpy-1.26-py311_0.conda"},
                  {"size", 7}};
  package.update(*parse_json(fields, "fields"));
  return dump_json(Json{{"backend", "b"}, {"version", "1"}, {"packages", Json::array({package})}});
}

TEST(SolveRequest, IsTheContracts) {
  EXPECT_EQ(
      format_solve_request(a_request()),
      R"({"contract":1,"platform":"linux-64","offline":false,"cache":"/cache","timeout":600,"preferred":[],)"
      R"("access":{"credentials":{},"proxies":{},"certificates":""},)"
      R"("channels":[{"name":"conda-forge","url":"https://example.org/conda-forge","mirrors":[]}],)"
      R"("specs":["python 3.11.*","numpy"],)"
      R"("virtual_packages":[{"name":"__archspec","version":"1","build":"x86_64"},)"
      R"({"name":"__glibc","version":"2.28","build":"0"}],"channel_priority":"flexible"})");
}

TEST(SolveRequest, SaysWhatStaysAndWhatIsTooNew) {
  SolveRequest request = a_request();
  request.preferred = {{"numpy", "1.26.4", kDigest}};
  request.exclude_newer = "2026-04-01T00:00:00Z";
  const std::string text = format_solve_request(request);
  EXPECT_THAT(text, HasSubstr(R"("preferred":[{"name":"numpy","version":"1.26.4","sha256":")" + kDigest));
  EXPECT_THAT(text, HasSubstr(R"("exclude_newer":"2026-04-01T00:00:00Z")"));
}

TEST(PipRequest, IsTheContracts) {
  PipRequest request;
  request.platform = "linux-64";
  request.offline = true;
  request.cache = "/cache";
  request.lines = {{"requests[socks]>=2", 7}};
  request.constraints = {{"x<2", 8, "c.txt:1"}};
  request.path = "/w/environment.yml";
  request.directory = "/w";
  request.python = "3.11.2";
  request.glibc = "2.28";
  request.provided = {{"numpy", "1.26"}};
  request.access = {{{"https://h", "https://_u:p@h"}}, {{"http", "http://p"}}, "/c"};
  EXPECT_EQ(
      format_pip_request(request),
      R"({"contract":1,"platform":"linux-64","offline":true,"cache":"/cache","timeout":600,"preferred":[],)"
      R"("access":{"credentials":{"https://h":"https://_u:p@h"},"proxies":{"http":"http://p"},"certificates":"/c"},)"
      R"("path":"/w/environment.yml","directory":"/w","python":"3.11.2","glibc":"2.28",)"
      R"("lines":[{"text":"requests[socks]>=2","line":7,"origin":""}],)"
      R"("constraints":[{"text":"x<2","line":8,"origin":"c.txt:1"}],"provided":{"numpy":"1.26"}})");
}

TEST(SolveAnswer, BecomesLockedPackages) {
  const auto answer = parse_solve_answer(
      answer_with(
          R"({"md5": "m", "depends": ["python >=3.11,<3.12.0a0", "libc", "python", "libblas >=3.9.0,<4.0a0",
                      "python_abi 3.11.* *_cp311", "libblas !=3.9.5", "libc >=2"]})"),
      a_request());
  ASSERT_TRUE(answer) << answer.error().cause;
  EXPECT_EQ(answer->backend, "b");
  ASSERT_EQ(answer->packages.size(), 1U);
  const LockedPackage& package = answer->packages[0];
  EXPECT_EQ(package.manager, Manager::conda);
  EXPECT_EQ(package.platform, "linux-64");
  EXPECT_EQ(package.build, "py311_0");
  EXPECT_EQ(package.size, 7U);
  EXPECT_EQ(package.md5, "m");
  EXPECT_THAT(package.dependencies,
              ElementsAre(Pair("libblas", ">=3.9.0,<4.0a0,!=3.9.5"), Pair("libc", ">=2"),
                          Pair("python", ">=3.11,<3.12.0a0"), Pair("python_abi", "3.11.* *_cp311")));
}

TEST(SolveAnswer, CredentialsStayOut) {
  const auto answer = parse_solve_answer(
      answer_with(R"({"url": "https://me:pw@example.org/t/tk-1/c/linux-64/n-1-0.conda"})"), a_request());
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->packages[0].url, "https://example.org/c/linux-64/n-1-0.conda");
}

TEST(SolveAnswer, ThatBreaksTheContractIsRefused) {
  const struct {
    std::string text;
    const char* cause;
  } cases[] = {{"[]", "no object"},
               {"{}", "no packages"},
               {R"({"packages": 1})", "no packages"},
               {R"({"packages": [1]})", "a package that is no object"},
               {answer_with(R"({"name": ""})"), "a package without name, version or URL"},
               {answer_with(R"({"version": 3})"), "a package without name, version or URL"},
               {answer_with(R"({"url": "/x.conda"})"), "a package without name, version or URL"}};
  for (const auto& c : cases)
    EXPECT_THAT(parse_solve_answer(c.text, a_request()),
                FailsWith(ErrorKind::corrupt,
                          "the solver's answer breaks its contract: " + std::string(c.cause), kMend))
        << c.text;
}

TEST(SolveAnswer, APackageWithoutSha256CannotBePinned) {
  const auto answer = parse_solve_answer(answer_with(R"({"sha256": ""})"), a_request());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, ErrorKind::unsupported);
  EXPECT_THAT(answer.error().cause, HasSubstr("numpy-1.26-py311_0.conda' has no sha256"));
}

TEST(SolveAnswer, AnErrorIsTheBackEndsAndIsLocated) {
  EXPECT_THAT(parse_solve_answer(R"({"error": {"kind": "network", "cause": "c", "hint": "h"}})", a_request()),
              FailsWith(ErrorKind::network, "c", "h"));
  EXPECT_THAT(
      parse_solve_answer(R"({"error": {"kind": "invalid", "cause": "c", "hint": "", "spec": 1}})", a_request()),
      FailsWith(ErrorKind::invalid, "/w/environment.yml:4: c"));
  EXPECT_THAT(
      parse_solve_answer(R"({"error": {"kind": "invalid", "cause": "c", "hint": "", "spec": 9}})", a_request()),
      FailsWith(ErrorKind::invalid, "c"));
}

TEST(SolveAnswer, WhateverTheTextParsingEnds) {
  testing_support::Random random;
  const std::string good = answer_with("{}");
  for (int i = 0; i < 3000; ++i) {
    std::string text = good;
    for (std::size_t changes = random.between(1, 4); changes > 0; --changes)
      text[random.below(text.size())] = random.bytes(1, 1)[0];
    (void)parse_solve_answer(text, a_request());
  }
}

TEST(ProvidedDistributions, AreThoseThatDependOnPython) {
  const auto package = [](const char* name, const char* version, bool python) {
    LockedPackage made;
    made.name = name;
    made.version = version;
    if (python) made.dependencies["python"] = "";
    return made;
  };
  EXPECT_THAT(provided_distributions({package("python", "3.11", false), package("pytorch", "2.0", true),
                                      package("ruamel.yaml", "0.17", true), package("xz", "5", false),
                                      package("Some__Name", "1", true)}),
              ElementsAre(Pair("ruamel-yaml", "0.17"), Pair("some-name", "1"), Pair("torch", "2.0")));
}

TEST(SolveConda, TheProgramGetsTheRequestAndNoPythonOfTheUsers) {
  const TemporaryDirectory directory;
  write_file(directory / "python",
             "#!/bin/sh\ncat >\"$0.request\"\necho \"$*\" >\"$0.arguments\"\necho '{\"backend\": \"x\", "
             "\"packages\": []}'\n",
             0755);
  const auto answer =
      solve_conda({directory / "python", "/scripts"}, Environment{{{"PATH", "/usr/bin:/bin"}}}, a_request());
  ASSERT_TRUE(answer) << answer.error().cause;
  EXPECT_EQ(read_file(directory / "python.request", 4096)->text, format_solve_request(a_request()));
  EXPECT_EQ(read_file(directory / "python.arguments", 4096)->text, "-E -s -B /scripts/solve_conda.py\n");
}

TEST(SolveConda, AProgramThatHangsIsEnded) {
  const TemporaryDirectory directory;
  write_file(directory / "python", "#!/bin/sh\nexec sleep 1000\n", 0755);
  SolveRequest request = a_request();
  request.time_limit = std::chrono::seconds(1);
  SolverPrograms programs{directory / "python", "/s"};
  programs.patience = std::chrono::seconds(0);
  EXPECT_THAT(solve_conda(programs, Environment{{{"PATH", "/usr/bin:/bin"}}}, request),
              FailsWith(ErrorKind::timed_out, "the solver 'solve_conda.py' hangs: it was ended after 1 s",
                        "does 'pinstep setup' mend it?"));
}

TEST(SolveConda, AProgramThatFailsIsQuoted) {
  const TemporaryDirectory directory;
  write_file(directory / "python",
             "#!/bin/sh\necho Traceback >&2\necho 'ImportError: no rattler' >&2\nexit 1\n", 0755);
  EXPECT_THAT(
      solve_conda({directory / "python", "/s"}, Environment(), a_request()),
      FailsWith(ErrorKind::os, "the solver 'solve_conda.py' failed with exit code 1: ImportError: no rattler",
                "does 'pinstep setup' mend it?"));
}

}  // namespace
}  // namespace pinstep
