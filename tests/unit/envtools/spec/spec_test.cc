#include "envtools/spec/spec.h"

#include <filesystem>
#include <map>

#include "tests/unit/support/files.h"
#include "tests/unit/support/random.h"
#include "tests/unit/support/results.h"
#include "tests/unit/support/testdata.h"

namespace pinstep {

inline void PrintTo(const SpecLine& line, std::ostream* out) { *out << line.line << ": '" << line.text << "'"; }

namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing_support::FailsWith;
using testing_support::Random;
using testing_support::shown;
using testing_support::Succeeds;
using testing_support::TemporaryDirectory;

Spec parsed(std::string_view text) {
  const auto spec = parse_spec(text, "f");
  EXPECT_THAT(spec, Succeeds()) << shown(text);
  return spec ? *spec : Spec{};
}

TEST(ParseSpec, TakesAWholeFileAndRemembersItsLines) {
  const Spec spec = parsed(
      "name: train \n"
      "channels:\n"
      "  - nvidia/label/cuda-11.8.0\n"
      "  - conda-forge  # first\n"
      "dependencies:\n"
      "  - python >=3.10, <3.13\n"
      "  - conda-forge::numpy=1.26\n"
      "  - pip:\n"
      "    - --find-links https://example.org/whl\n"
      "    - requests[security]>=2  # c\n"
      "    - \"-e .\"\n"
      "platforms: [linux-64, linux-aarch64, linux-64]\n"
      "variables:\n"
      "  A: yes\n"
      "  B: '1'\n");
  EXPECT_EQ(spec.path, "f");
  EXPECT_EQ(spec.name, "train");
  EXPECT_THAT(spec.channels, ElementsAre(SpecLine{"nvidia/label/cuda-11.8.0", 3}, SpecLine{"conda-forge", 4}));
  EXPECT_THAT(spec.conda,
              ElementsAre(SpecLine{"python >=3.10, <3.13", 6}, SpecLine{"conda-forge::numpy=1.26", 7}));
  EXPECT_THAT(spec.pip, ElementsAre(SpecLine{"--find-links https://example.org/whl", 9},
                                    SpecLine{"requests[security]>=2", 10}, SpecLine{"-e .", 11}));
  EXPECT_TRUE(spec.has_pip_section);
  EXPECT_THAT(spec.platforms, ElementsAre("linux-64", "linux-aarch64"));
  EXPECT_THAT(spec.variables, ElementsAre(Pair("A", "yes"), Pair("B", "1")));
  EXPECT_THAT(spec.notes, IsEmpty());
}

TEST(ParseSpec, TakesTheFormsThatAreFoundInTheWild) {
  EXPECT_EQ(parsed("name: null\ndependencies: [a]\n").name, "");
  EXPECT_EQ(parsed("name:\n  long-name\ndependencies: [a]\n").name, "long-name");
  EXPECT_EQ(parsed("dependencies:\n- a\n- pip:\n  - b\n").pip.size(), 1u);
  EXPECT_EQ(parsed("dependencies:\n  - a").conda.size(), 1u);
  EXPECT_EQ(parsed("channels:\ndependencies: [a]\nvariables:\nplatforms:\n").conda.size(), 1u);
  EXPECT_EQ(
      parsed("dependencies:\n - https://example.org/linux-64/a-1-0.conda\n - /c/b-1-0.tar.bz2\n").conda.size(),
      2u);
  EXPECT_EQ(
      parsed("dependencies:\n - 'blas[build=mkl]'\n - \"x[version='>=1',build=*cuda*]\"\n - '*/linux-64::y'\n")
          .conda.size(),
      3u);
}

TEST(ParseSpec, KeepsNodefaultsOutOfTheChannels) {
  EXPECT_THAT(parsed("channels: [nodefaults, a, b]\ndependencies: [x]\n").channels,
              ElementsAre(SpecLine{"a", 1}, SpecLine{"b", 1}));
  EXPECT_THAT(parsed("dependencies: [x]\n").channels, IsEmpty());
}

TEST(ParseSpec, ReadsThePipListAsPipDoes) {
  const Spec spec = parsed(
      "dependencies:\n"
      "  - pip:\n"
      "    - \"a==1  # why\"\n"
      "    - b @ https://example.org/b.whl#sha256=00\n"
      "    - |\n"
      "      c\n"
      "      # only a comment\n"
      "\n"
      "      d ; python_version<\"3.9\"\n");
  EXPECT_THAT(spec.pip, ElementsAre(SpecLine{"a==1", 3}, SpecLine{"b @ https://example.org/b.whl#sha256=00", 4},
                                    SpecLine{"c", 5}, SpecLine{"d ; python_version<\"3.9\"", 5}));
}

TEST(ParseSpec, AnEmptyPipListIsStillOne) {
  for (const char* text : {"dependencies:\n - pip:\n", "dependencies:\n - pip: []\n"}) {
    EXPECT_TRUE(parsed(text).has_pip_section) << text;
    EXPECT_THAT(parsed(text).pip, IsEmpty()) << text;
  }
  EXPECT_FALSE(parsed("dependencies: [pip]\n").has_pip_section);
}

TEST(ParseSpec, KeepsTheTextOfVariables) {
  const auto variables =
      parsed(
          "dependencies: [a]\nvariables:\n  A: on\n  B: 1_000\n  C: 0x10\n  D: 1e3\n  E: 2024-01-01\n"
          "  F: \"\"\n  G: 'null'\n  H: \"a\\nb\"\n  I: 007\n")
          .variables;
  const std::map<std::string, std::string> expected{{"A", "on"},   {"B", "1_000"},      {"C", "0x10"},
                                                    {"D", "1e3"},  {"E", "2024-01-01"}, {"F", ""},
                                                    {"G", "null"}, {"H", "a\nb"},       {"I", "007"}};
  EXPECT_EQ(variables, expected);
}

TEST(ParseSpec, NotesWhatIsOddAndHarmless) {
  struct Case {
    const char* text;
    const char* note;
  };
  const Case cases[] = {
      {"prefix: /home/u/x\ndependencies: [a]\n",
       "f:1: 'prefix' is not read: where an environment lies follows from what is in it"},
      {"channel_priority: strict\ndependencies: [a]\n", "f:1: 'channel_priority' is not read"},
      {"chanels: [a]\ndependencies: [a]\n", "f:1: 'chanels' is not read; did you mean 'channels'?"},
      {"category: dev\ndependencies: [a]\n", "f:1: 'category' is not read"},
      {"name: a b\ndependencies: [a]\n", "f:1: 'a b' is not a name that conda would take"},
      {"name: base\ndependencies: [a]\n", "f:1: 'base' is not a name that conda would take"},
      {"channels: [a, a]\ndependencies: [a]\n", "f:1: 'a' is in the list already"},
      {"dependencies:\n", "f:1: 'dependencies' is empty"},
      {"dependencies:\n - a\n -\n", "f:3: an item without content"},
      {"dependencies:\n - pip: [a]\n - pip: [b]\n", "f:3: a second 'pip:' list is read after the first"},
      {"dependencies:\n - a  # [linux64]\n",
       "f:2: '# [linux64]' is only a comment, as for conda: the line holds on every platform"},
      {"dependencies:\n - a  #[not (win or osx)]\n",
       "f:2: '# [not (win or osx)]' is only a comment, as for conda: the line holds on every platform"},
      {"dependencies:\n - sel(win): a\n", "f:2: 'a' is left out: it is for another system"},
      {"dependencies:\n - python=3.12=*_cpython\n",
       "f:2: 'python=3.12=*_cpython' means version 3.12 exactly, not 3.12.1; 'python=3.12.*=*_cpython' means "
       "both"},
  };
  for (const Case& c : cases) EXPECT_THAT(parsed(c.text).notes, ElementsAre(c.note)) << c.text;
}

TEST(ParseSpec, DoesNotNoteWhatIsUsual) {
  for (const char* text : {"dependencies:\n - a  # [x] done\n", "dependencies:\n - a  # see [1]\n",
                           "dependencies:\n - numpy=1.26.4=py312h3a_0\n", "dependencies:\n - a=1.2.3=*cuda*\n",
                           "dependencies:\n - python=3.12.*=*_cpython\n - python==3.12\n",
                           "dependencies:\n - sel(unix): a\n - sel(linux): b\n"})
    EXPECT_THAT(parsed(text).notes, IsEmpty()) << text;
}

TEST(ParseSpec, StopsAtWhatWouldBeMisread) {
  struct Case {
    const char* text;
    const char* cause;
    const char* hint;
  };
  const Case cases[] = {
      {"", "f:1: the file is empty", ""},
      {"# nothing\n", "f:1: the file is empty", ""},
      {"- a\n", "f:1: this is no environment file: it does not begin with keys",
       "it looks like 'dependencies:' with a list below"},
      {"name: a\n", "f:1: the file has no 'dependencies:'", "an environment file lists its packages there"},
      {"name: a\ndependancies: [a]\n", "f:2: 'dependancies' is not read", "did you mean 'dependencies'?"},
      {"name: a\nname: b\n", "f:2: the key 'name' stands in line 1 already", ""},
      {"name: [a]\ndependencies: [a]\n", "f:1: 'name' is not a text", ""},
      {"channels: conda-forge\ndependencies: [a]\n", "f:1: 'channels' is not a list",
       "each line of a list begins with '- '"},
      {"channels:\n  - a: b\ndependencies: [a]\n", "f:2: a channel is a name, a URL or a path", ""},
      {"channels: [nodefaults]\ndependencies: [a]\n", "f:1: 'nodefaults' leaves no channel",
       "name one, such as conda-forge"},
      {"dependencies: a\n", "f:1: 'dependencies' is not a list", "each line of a list begins with '- '"},
      {"dependencies:\n  python: 3.8\n", "f:2: 'dependencies' is not a list",
       "each line of a list begins with '- '"},
      {"dependencies:\n - python: 3.8\n", "f:2: 'python: 3.8' is not a package", "write 'python=3.8'"},
      {"dependencies:\n - npm:\n   - x\n", "f:2: 'npm' is not a section that pinstep reads", "there is 'pip:'"},
      {"dependencies:\n - - a\n", "f:2: a list in the list of dependencies", "is a '- ' too many?"},
      {"dependencies:\n - sel(bsd): a\n", "f:2: 'sel(bsd)' is not a selector",
       "there are sel(linux), sel(unix), sel(osx) and sel(win)"},
      {"dependencies:\n - pip:\n   - a: b\n", "f:3: this is not a line of a requirements file",
       "a text with ': ' in it needs quotes"},
      {"dependencies:\n - pip: a\n", "f:2: 'pip' is not a list", "each line of a list begins with '- '"},
      {"dependencies: [a]\nplatforms: [noarch]\n", "f:2: 'noarch' is not a platform",
       "platforms are linux-64, linux-aarch64 and the like"},
      {"dependencies: [a]\nvariables: [A]\n", "f:2: 'variables' is not made of lines 'NAME: value'", ""},
      {"dependencies: [a]\nvariables:\n  1A: b\n", "f:3: '1A' is not the name of a variable", ""},
      {"dependencies: [a]\nvariables:\n  A: b\n  RANK: 0\n",
       "f:4: 'RANK' cannot be set here: each process of a step has its own", ""},
      {"dependencies: [a]\nvariables:\n  SLURM_JOB_ID: 1\n",
       "f:3: 'SLURM_JOB_ID' cannot be set here: it is Slurm's", ""},
      {"dependencies: [a]\nvariables:\n  PATH: b\n",
       "f:3: 'PATH' cannot be set here: it begins with the environment's directories", ""},
      {"dependencies: [a]\nvariables:\n  A:\n", "f:3: 'A' has no value",
       "write \"\" for an empty one, or \"null\" in quotes"},
      {"dependencies: [a]\nvariables:\n  A: [b]\n", "f:3: the value of 'A' is not a text", ""},
      {"dependencies:\n - \"python={{ v }}\"\n", "f:2: 'python={{ v }}' is a template, not a package",
       "write what it should become"},
      {"dependencies:\n{% if gpu %}\n - a\n{% endif %}\n", "f:2: '{% if gpu %}' is a template",
       "write what it should become"},
      {"dependencies:\n - {{ x }}\n", "f:2: '- {{ x }}' is a template", "write what it should become"},
      {"dependencies:\n - pip:\n   - \"a=={{ v }}\"\n", "f:3: 'a=={{ v }}' is a template, not a value",
       "write what it should become"},
      {"dependencies:\n - fsspec[http]>=2021.06.1\n",
       "f:2: 'fsspec[http]>=2021.06.1' asks for an extra, which conda packages do not have",
       "leave '[http]' out and name the packages it stands for, or move the line below 'pip:'"},
      {"dependencies:\n - \"x[build=1\"\n", "f:2: 'x[build=1' has a '[' without its ']'", ""},
      {"dependencies:\n - -e .\n", "f:2: '-e .' is an option of pip", "it belongs into the list below 'pip:'"},
      {"dependencies:\n - git+https://example.org/a\n",
       "f:2: 'git+https://example.org/a' is a requirement of pip", "it belongs into the list below 'pip:'"},
      {"dependencies:\n - a @ https://example.org/a.whl\n",
       "f:2: 'a @ https://example.org/a.whl' is a requirement of pip", "it belongs into the list below 'pip:'"},
      {"dependencies:\n - a===1.0\n", "f:2: 'a===1.0' has pip's operator '==='",
       "a conda package's exact version has '=='"},
      {"dependencies:\n - a>1; python_version<'3'\n",
       "f:2: 'a>1; python_version<'3'' has a marker, which conda packages do not have",
       "it belongs into the list below 'pip:', or has to be without it"},
      {"dependencies:\n - =1.0\n", "f:2: '=1.0' names no package", ""},
      {"dependencies:\n - python@3.8\n", "f:2: 'python@3.8' is not a package with a version",
       "write it like 'numpy=1.26'"},
  };
  for (const Case& c : cases)
    EXPECT_THAT(parse_spec(c.text, "f"),
                FailsWith(ErrorKind::invalid, std::string(c.cause), std::string(c.hint)))
        << c.text;
}

TEST(ParseSpec, GivesAnErrorWithALineOrASpecForWhateverItGets) {
  Random random;
  constexpr std::string_view pieces[] = {
      "name: ",  "channels:",  "dependencies:", "variables:", "pip:",      "- ", "\n", "\n  ", "\n    ",
      "a",       "=1",         ">=2",           "[x]",        "# [linux]", "'",  "{{", ": ",   "sel(win)",
      "prefix:", "platforms:", "null",          "\t",         "\xff",      "|"};
  for (int i = 0; i < 3000; ++i) {
    std::string text = random.one_in(2) ? "dependencies:\n" : "";
    for (std::size_t n = random.below(20); n > 0; --n) text += random.pick(pieces);
    const auto spec = parse_spec(text, "f");
    if (spec) continue;
    EXPECT_EQ(spec.error().kind, ErrorKind::invalid);
    EXPECT_TRUE(spec.error().cause.starts_with("f:")) << random << shown(text) << spec.error().cause;
  }
}

TEST(LoadSpec, FollowsALinkAndTellsWhichFileIsNotThere) {
  TemporaryDirectory directory;
  testing_support::write_file(directory / "real.yml", "dependencies: [a]\n");
  std::filesystem::create_symlink("real.yml", directory / "environment.yml");
  const auto spec = load_spec(directory / "environment.yml");
  ASSERT_THAT(spec, Succeeds());
  EXPECT_EQ(spec->path, directory / "environment.yml");
  EXPECT_EQ(load_spec(directory / "none.yml").error().kind, ErrorKind::not_found);
  testing_support::write_file(directory / "long.yml", std::string(kSpecSizeLimit + 1, '#'));
  EXPECT_EQ(load_spec(directory / "long.yml").error().kind, ErrorKind::corrupt);
}

// ---- the canonical text

TEST(CanonicalText, IsAsTheFormatNoteSays) {
  const Spec spec = parsed(
      "name: n\n"
      "channels: [b, a]\n"
      "dependencies:\n"
      "  - numpy  >=1\n"
      "  - abc\n"
      "  - abc\n"
      "  - pip:\n"
      "    - zlib\n"
      "    - -f https://example.org/x\n"
      "    - attrs\n"
      "platforms: [linux-64]\n"
      "variables: {B: 'a b%', A: ''}\n");
  EXPECT_EQ(canonical_text(spec),
            "pinstep-spec 1\n"
            "channel b\n"
            "channel a\n"
            "conda abc\n"
            "conda numpy%20>=1\n"
            "pip-section\n"
            "pip -f%20https://example.org/x\n"
            "pip attrs\n"
            "pip zlib\n"
            "variable A \n"
            "variable B a%20b%25\n");
}

TEST(CanonicalText, IsTheSameForSpecsThatMeanTheSame) {
  const std::string text = canonical_text(parsed("channels: [a]\ndependencies: [x, y >1]\n"));
  for (const char* other :
       {"name: n\nchannels: [a]\ndependencies: [x, y >1]\n", "dependencies: [y   >1, x]\nchannels: [a]\n",
        "# c\nchannels:\n- a\n- nodefaults\ndependencies:\n- 'x'\n- y >1 # why\n- x\n",
        "channels: [a]\ndependencies: [x, y >1]\nplatforms: [linux-64]\nprefix: /x\n"})
    EXPECT_EQ(canonical_text(parsed(other)), text) << other;
}

TEST(CanonicalText, DiffersForSpecsThatMeanAnother) {
  const std::string text = canonical_text(parsed("channels: [a, b]\ndependencies: [x, pip: [p, q]]\n"));
  for (const char* other :
       {"channels: [b, a]\ndependencies: [x, pip: [p, q]]\n", "channels: [a]\ndependencies: [x, pip: [p, q]]\n",
        "channels: [a, b]\ndependencies: [pip: [p, q]]\n", "channels: [a, b]\ndependencies: [x, p, q]\n",
        "channels: [a, b]\ndependencies: [x, pip: [p, q]]\nvariables: {A: b}\n"})
    EXPECT_NE(canonical_text(parsed(other)), text) << other;
  EXPECT_NE(canonical_text(parsed("dependencies: [x]\n")),
            canonical_text(parsed("dependencies: [x, pip: ]\n")));
}

// ---- real files

TEST(RealSpecs, AreReadWithTheRightNumberOfLines) {
  const std::string directory = testing_support::testdata("conda/environments/real");
  if (directory.empty()) GTEST_SKIP() << "no test data: conda/environments";
  const std::map<std::string, std::pair<std::size_t, std::size_t>> counts{
      {"01", {6, 19}}, {"03", {6, 13}},   {"05", {4, 3}},   {"07", {16, 13}}, {"09", {26, 5}}, {"11", {11, 2}},
      {"13", {7, 3}},  {"15", {93, 102}}, {"17", {28, 62}}, {"19", {16, 0}},  {"21", {1, 5}},  {"23", {47, 1}},
      {"25", {13, 0}}, {"27", {6, 43}},   {"29", {30, 1}},  {"31", {6, 19}}};
  std::size_t seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const auto spec = load_spec(entry.path());
    ASSERT_THAT(spec, Succeeds()) << entry.path();
    const auto& [conda, pip] = counts.at(entry.path().filename().string().substr(0, 2));
    EXPECT_EQ(spec->conda.size(), conda) << entry.path();
    EXPECT_EQ(spec->pip.size(), pip) << entry.path();
    EXPECT_EQ(spec->notes.size(), spec->name == "mistral-latest" ? 1u : 0u) << entry.path();
    ++seen;
  }
  EXPECT_EQ(seen, counts.size());
}

TEST(RealSpecs, AreReadAlsoWhereTheyAreOdd) {
  const std::string directory = testing_support::testdata("conda/environments/conda-lock");
  if (directory.empty()) GTEST_SKIP() << "no test data: conda/environments";
  std::size_t notes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const auto spec = load_spec(entry.path());
    ASSERT_THAT(spec, Succeeds()) << entry.path();
    notes += spec->notes.size();
  }
  EXPECT_EQ(notes, 5u);  // four selectors and pip-repositories
  const auto git = load_spec(directory + "/test-git-tag--environment.yml");
  ASSERT_EQ(git.value().pip.size(), 1u);
  EXPECT_TRUE(git->pip[0].text.ends_with("pydantic@v2.0b2"));
}

TEST(RealSpecs, HaveTheCanonicalTextOfTheFormatNote) {
  const std::string directory = testing_support::testdata("conda/environments/real");
  if (directory.empty()) GTEST_SKIP() << "no test data: conda/environments";
  EXPECT_EQ(canonical_text(load_spec(directory + "/11-edm--environment.yml").value()),
            "pinstep-spec 1\n"
            "channel pytorch\n"
            "channel nvidia\n"
            "conda click>=8.0\n"
            "conda imageio\n"
            "conda numpy>=1.20\n"
            "conda pillow>=8.3.1\n"
            "conda pip\n"
            "conda psutil\n"
            "conda python>=3.8,%20<%203.10\n"
            "conda pytorch=1.12.1\n"
            "conda requests\n"
            "conda scipy>=1.7.1\n"
            "conda tqdm\n"
            "pip-section\n"
            "pip imageio-ffmpeg>=0.4.3\n"
            "pip pyspng\n");
}

TEST(RealSpecs, AreTheTeachingOnesToo) {
  const std::string directory = testing_support::testdata("conda/environments/teaching");
  if (directory.empty()) GTEST_SKIP() << "no test data: conda/environments";
  EXPECT_EQ(load_spec(directory + "/pytorch-dist.environment.yml").value().conda.size(), 8u);
  EXPECT_EQ(load_spec(directory + "/pytorch_dist-pinned.environment.yml").value().conda.size(), 6u);
}

}  // namespace
}  // namespace pinstep
