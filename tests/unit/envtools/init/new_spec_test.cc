#include "envtools/init/new_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "envtools/channel/channel.h"
#include "envtools/spec/spec.h"
#include "tests/unit/support/files.h"
#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing_support::FailsWith;
using testing_support::Succeeds;
using testing_support::TemporaryDirectory;
using testing_support::write_file;

TEST(FormatNewSpec, IsReadBack) {
  NewSpec made;
  made.name = "on";
  made.channels = {"conda-forge", "https://h.example.org/c"};
  made.platforms = {"linux-64"};
  made.conda = {"python=3.12", "pytorch[version='>=2',build='*cuda*']", "pip"};
  made.pip = {"-e .", "x @ https://h.example.org/x.whl#sha256=1", "numpy==2 ; python_version < '3'"};
  made.variables = {{"A", "yes"}, {"B", ""}};
  const auto read = parse_spec(format_new_spec(made), "/d/environment.yml");
  ASSERT_THAT(read, Succeeds()) << format_new_spec(made);
  EXPECT_EQ(read->name, made.name);
  EXPECT_EQ(read->platforms, made.platforms);
  EXPECT_EQ(read->variables, made.variables);
  ASSERT_EQ(read->conda.size(), 3u);
  EXPECT_EQ(read->conda[1].text, made.conda[1]);
  ASSERT_EQ(read->pip.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(read->pip[i].text, made.pip[i]);
  EXPECT_EQ(read->channels[1].text, made.channels[1]);
}

TEST(FormatNewSpec, OfNothingIsReadBackToo) {
  EXPECT_THAT(parse_spec(format_new_spec({}), "/d/e.yml"), Succeeds());
}

TEST(FromRequirements, TakesTheLinesAndNoCredentials) {
  const NewSpec spec = from_requirements(
      "# c\n--extra-index-url=https://me:secret@i.example/simple\n--index-url "
      "https://me:secret@i.example/simple\n"
      "numpy>=2  # why\n-e .\n",
      "/d/r.txt");
  EXPECT_THAT(spec.conda, ElementsAre("python", "pip"));
  EXPECT_THAT(spec.pip, ElementsAre("--extra-index-url=https://i.example/simple",
                                    "--index-url https://i.example/simple", "numpy>=2", "-e ."));
  EXPECT_THAT(spec.notes,
              ElementsAre(HasSubstr("no version of Python"), HasSubstr("/d/r.txt:2: credentials left out"),
                          HasSubstr("/d/r.txt:3: credentials left out")));
}

TEST(FromProject, ReadsPixi) {
  const auto spec = from_project(
      "[workspace]\nname = \"train\"\nchannels = [\"conda-forge\", { channel = \"nvidia\", priority = 1 }]\n"
      "platforms = [\"linux-64\", \"osx-arm64\"]\n"
      "[dependencies]\npython = \"3.12.*\"\nnumpy = \">=2, <3\"\nanything = \"*\"\nexact = \"1.2\"\n"
      "pytorch = { version = \">=2\", build = \"*cuda*\", channel = \"pytorch\" }\nmine = { path = \".\" }\n"
      "[target.linux-64.dependencies]\nlinuxonly = \"1.*\"\n[target.win-64.dependencies]\nwinonly = \"*\"\n"
      "[pypi-dependencies]\nrequests = { version = \">=2\", extras = [\"socks\", \"x\"] }\nhere = { path = "
      "\".\", editable = "
      "true }\nrepo = { git = \"https://h.example.org/r\", rev = \"abc\" }\nplain = \"*\"\n"
      "[activation.env]\nOMP_NUM_THREADS = \"4\"\n[feature.gpu.dependencies]\nx = \"*\"\n"
      "[system-requirements]\ncuda = \"12\"\n",
      "/d/pixi.toml");
  ASSERT_THAT(spec, Succeeds());
  EXPECT_EQ(spec->name, "train");
  EXPECT_THAT(spec->channels, ElementsAre("conda-forge", "nvidia"));
  EXPECT_THAT(spec->platforms, ElementsAre("linux-64"));
  EXPECT_THAT(spec->conda,
              testing::UnorderedElementsAre("python=3.12.*", "numpy>=2,<3", "anything", "exact==1.2",
                                            "pytorch::pytorch[version='>=2',build='*cuda*']", "linuxonly=1.*"));
  EXPECT_THAT(spec->pip, testing::UnorderedElementsAre("requests[socks,x]>=2", "-e .",
                                                       "repo @ git+https://h.example.org/r@abc", "plain"));
  EXPECT_THAT(spec->variables, ElementsAre(Pair("OMP_NUM_THREADS", "4")));
  EXPECT_THAT(spec->notes, Contains(HasSubstr("/d/pixi.toml:11: 'mine' is left out")));
  EXPECT_THAT(spec->notes, Contains(HasSubstr("'target.win-64' is left out")));
  EXPECT_THAT(spec->notes, Contains(HasSubstr("'feature' is left out")));
  EXPECT_THAT(spec->notes, Contains(HasSubstr("'system-requirements' is left out")));
  EXPECT_THAT(parse_spec(format_new_spec(*spec), "/d/e.yml"), Succeeds());
}

TEST(FromProject, ReadsPyproject) {
  const std::string project =
      "[project]\nname = \"mine\"\nrequires-python = \">=3.10\"\ndependencies = [\"numpy>=2\", \"x; "
      "sys_platform == "
      "'linux'\"]\n";
  const auto spec = from_project(project, "/d/pyproject.toml");
  ASSERT_THAT(spec, Succeeds());
  EXPECT_EQ(spec->name, "mine");
  EXPECT_THAT(spec->conda, ElementsAre("python>=3.10", "pip"));
  EXPECT_THAT(spec->pip, ElementsAre("numpy>=2", "x; sys_platform == 'linux'"));

  const auto both =
      from_project(project +
                       "[tool.pixi.workspace]\nchannels = [\"conda-forge\"]\n"
                       "[tool.pixi.dependencies]\ncuda-version = \"12.*\"\n"
                       "[tool.pixi.pypi-dependencies]\nmine = { path = \".\", editable = true }\n",
                   "/d/pyproject.toml");
  ASSERT_THAT(both, Succeeds());
  EXPECT_EQ(both->name, "mine");
  EXPECT_THAT(both->conda, ElementsAre("python>=3.10", "cuda-version=12.*"));
  EXPECT_THAT(both->pip, ElementsAre("numpy>=2", "x; sys_platform == 'linux'", "-e ."));
}

TEST(FromProject, SaysWhatIsNone) {
  EXPECT_THAT(
      from_project("[tool.poetry]\nname = \"x\"\n", "/d/p.toml"),
      FailsWith(ErrorKind::invalid, "/d/p.toml:1: there is no section [project], [workspace] or [tool.pixi]",
                "'poetry export' writes a requirements.txt, which is read"));
  EXPECT_THAT(from_project("[build-system]\n", "/d/p.toml").error().hint, HasSubstr("pixi.toml"));
  EXPECT_THAT(from_project("a = \n", "/d/p.toml").error().cause, HasSubstr("/d/p.toml:1: this is no TOML"));
}

// ---- a conda environment

class FromPrefix : public testing::Test {
 protected:
  void SetUp() override {
    const std::string forge = built_in_channel_config().alias + "/conda-forge/linux-64";
    add("python", "3.12.3", forge, "");
    add("numpy", "2.0", "https://me:secret@h.example.org/anaconda/cloud/conda-forge/linux-64",
        "\"python >=3.12\", \"libblas\"", "\"lib/python3.12/site-packages/numpy-2.0.dist-info/METADATA\"");
    add("libblas", "3.9", forge, "");
    add("mkl", "2024", "https://h.example.org/pkgs/main/linux-64", "");
    distribution("numpy", "2.0", "");
  }
  void add(const std::string& name, const std::string& version, const std::string& channel,
           const std::string& depends, const std::string& files = "") {
    write_file(prefix_ / ("conda-meta/" + name + "-" + version + "-0.json"),
               R"({"name": ")" + name + R"(", "version": ")" + version + R"(", "channel": ")" + channel +
                   R"(", "depends": [)" + depends + R"(], "files": [)" + files + "]}");
  }
  void distribution(const std::string& name, const std::string& version, const std::string& direct) {
    const std::string directory =
        prefix_ / ("lib/python3.12/site-packages/" + name + "-" + version + ".dist-info/");
    write_file(directory + "METADATA",
               "Metadata-Version: 2.1\nName: " + name + "\nVersion: " + version + "\n\nName: x\n");
    if (!direct.empty()) write_file(directory + "direct_url.json", direct);
  }
  TemporaryDirectory prefix_;
};

TEST_F(FromPrefix, TakesWhatItsHistorySaysWasAskedFor) {
  write_file(
      prefix_ / "conda-meta/history",
      "==> 2024-01-01 00:00:00 <==\n# cmd: conda create -n x python=3.11 numpy mkl\n# conda version: 24.1\n"
      "+conda-forge/linux-64::python-3.12.3-0\n# update specs: ['python=3.11', \"numpy>=2\", 'mkl', 'gone']\n"
      "==> 2024-01-02 00:00:00 <==\n# update specs: ['python=3.12']\n"
      "==> 2024-01-03 00:00:00 <==\n# remove specs: ['mkl']\n");
  write_file(prefix_ / "conda-meta/state", R"({"env_vars": {"A": "1", "B": "***unset***"}})");
  const auto spec = from_prefix(prefix_.path());
  ASSERT_THAT(spec, Succeeds());
  EXPECT_THAT(spec->conda, ElementsAre("numpy>=2", "python=3.12"));
  EXPECT_THAT(spec->channels, ElementsAre("conda-forge", "defaults"));
  EXPECT_THAT(spec->variables, ElementsAre(Pair("A", "1")));
  EXPECT_THAT(spec->pip, IsEmpty());
  EXPECT_THAT(spec->notes, IsEmpty());
}

TEST_F(FromPrefix, ElseWhatNothingElseNeeds) {
  write_file(prefix_ / "conda-meta/history", "");
  const auto spec = from_prefix(prefix_.path());
  ASSERT_THAT(spec, Succeeds());
  EXPECT_THAT(spec->conda, ElementsAre("mkl=2024", "numpy=2.0", "python=3.12.3"));
  EXPECT_THAT(spec->notes, ElementsAre(HasSubstr("does not say what was asked for")));
}

TEST_F(FromPrefix, TakesWhatPipHasInstalled) {
  write_file(prefix_ / "conda-meta/history", "# update specs: ['python']\n");
  distribution("einops", "0.8", "");
  distribution("mine", "1", R"({"url": "file:///home/a%20b/mine", "dir_info": {"editable": true}})");
  distribution(
      "repo", "1",
      R"({"url": "https://me:secret@h.example.org/r", "vcs_info": {"vcs": "git", "commit_id": "abc"}})");
  distribution("file", "1", R"({"url": "https://h.example.org/file.whl", "archive_info": {}})");
  const auto spec = from_prefix(prefix_.path());
  ASSERT_THAT(spec, Succeeds());
  EXPECT_THAT(spec->pip, ElementsAre("einops==0.8", "file @ https://h.example.org/file.whl",
                                     "-e /home/a b/mine", "repo @ git+https://h.example.org/r@abc"));
  EXPECT_THAT(spec->conda, ElementsAre("python", "pip"));
}

TEST(FromPrefixOfNothing, SaysSo) {
  TemporaryDirectory empty;
  EXPECT_THAT(from_prefix(empty.path()).error().cause, HasSubstr("is no conda environment"));
  write_file(empty / "conda-meta/x.json", "[]");
  EXPECT_THAT(from_prefix(empty.path()).error().cause, HasSubstr("is no conda environment"));
}

}  // namespace
}  // namespace pinstep
