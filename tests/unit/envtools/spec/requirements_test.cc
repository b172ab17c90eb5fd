#include "envtools/spec/requirements.h"

#include "tests/unit/support/files.h"
#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing_support::TemporaryDirectory;
using testing_support::write_file;

std::vector<std::string> shown(const std::vector<SpecLine>& lines) {
  std::vector<std::string> texts;
  for (const SpecLine& line : lines)
    texts.push_back(std::to_string(line.line) + (line.origin.empty() ? "" : " " + line.origin) + " " +
                    line.text);
  return texts;
}

TEST(RequirementLines, AreWithoutCommentsAndJoined) {
  EXPECT_THAT(shown(requirement_lines("# all\na==1 # why\n\n  b >=2\\\n ,<3\r\nhttps://h/x#egg=x\nc \\\n"
                                      "  --hash=sha256:0 \\\n  # not this\nd\\")),
              ElementsAre("2 a==1", "4 b >=2 ,<3", "6 https://h/x#egg=x", "7 c   --hash=sha256:0", "10 d"));
  EXPECT_TRUE(requirement_lines("").empty());
  EXPECT_TRUE(requirement_lines("#\\\n  # a\n\\\n").empty());
}

TEST(FileOption, KnowsAllWaysToNameAFile) {
  for (const auto& [line, path] :
       std::vector<std::pair<std::string, std::string>>{{"-r more.txt", "r more.txt"},
                                                        {"-rmore.txt", "r more.txt"},
                                                        {"-r=more.txt", "r more.txt"},
                                                        {"--requirement more.txt", "r more.txt"},
                                                        {"--requirement=\"a b.txt\"", "r a b.txt"},
                                                        {"-c 'limits.txt'", "c limits.txt"},
                                                        {"--constraint\tlimits.txt", "c limits.txt"},
                                                        {"-r", "r "},
                                                        {"--requirements more.txt", ""},
                                                        {"--config-settings x", ""},
                                                        {"requests -r", ""},
                                                        {"", ""}}) {
    const auto option = file_option(line);
    const std::string found =
        option ? (option->kind == FileOption::Kind::requirements ? "r " : "c ") + option->path : "";
    EXPECT_EQ(found, path) << line;
  }
}

struct Files {
  TemporaryDirectory directory;
  Result<Spec> load(const std::string& pip) const {
    write_file(directory / "environment.yml", "dependencies:\n- python\n- pip:\n" + pip);
    return load_spec(directory / "environment.yml");
  }
  std::string cause(const std::string& pip) const {
    const auto spec = load(pip);
    if (spec) return "read";
    std::string text = spec.error().cause;
    for (std::size_t at; (at = text.find(directory.path())) != std::string::npos;)
      text.replace(at, directory.path().size(), "D");
    return text;
  }
};

TEST(ReadRequirementFiles, PutsTheirLinesWhereTheyAreNamed) {
  const Files files;
  write_file(files.directory / "sub/base.txt", "numpy\n-r ../more.txt\n-c limits.txt\n--pre\n");
  write_file(files.directory / "more.txt", "\n\nscipy>=1 ; python_version < '4'\n");
  write_file(files.directory / "sub/limits.txt", "# limits\nscipy<2\n-r deeper.txt\n");
  write_file(files.directory / "sub/deeper.txt", "numpy<3\n");
  const auto spec = files.load("  - einops\n  - -r sub/base.txt\n  - pandas\n");
  ASSERT_TRUE(spec) << spec.error().cause;
  EXPECT_THAT(shown(spec->pip),
              ElementsAre("4 einops", "5 sub/base.txt:1 numpy", "5 more.txt:3 scipy>=1 ; python_version < '4'",
                          "5 sub/base.txt:4 --pre", "6 pandas"));
  EXPECT_THAT(shown(spec->constraints),
              ElementsAre("5 sub/limits.txt:2 scipy<2", "5 sub/deeper.txt:1 numpy<3"));
  EXPECT_EQ(spec->inputs.size(), 4u);
  EXPECT_EQ(spec->inputs.at("more.txt").size(), 64u);
  EXPECT_EQ(place_of(*spec, spec->pip[1]), files.directory / "environment.yml:5: sub/base.txt:1: ");
}

TEST(ReadRequirementFiles, MakesTheirContentAPartOfTheSpec) {
  const Files files;
  const std::string pip = "  - -r more.txt\n  - -c limits.txt\n";
  write_file(files.directory / "limits.txt", "a<2\n");
  write_file(files.directory / "more.txt", "a\nb\n");
  const std::string before = canonical_text(files.load(pip).value());
  EXPECT_THAT(before, HasSubstr("constraint a<2\n"));
  EXPECT_EQ(before, canonical_text(files.load("  - -c limits.txt\n  - b\n  - a\n").value()));
  write_file(files.directory / "more.txt", "# a comment\nb\na\n");
  EXPECT_EQ(canonical_text(files.load(pip).value()), before);
  write_file(files.directory / "limits.txt", "a<3\n");
  EXPECT_NE(canonical_text(files.load(pip).value()), before);
}

TEST(ReadRequirementFiles, SaysWhereWhatCannotBeReadIsNamed) {
  const Files files;
  write_file(files.directory / "one.txt", "a\n-r two.txt\n");
  write_file(files.directory / "two.txt", "-c ./one.txt\n");
  write_file(files.directory / "far.txt", "-r sub/none.txt\n");
  write_file(files.directory / "bare.txt", "--requirement\n");
  EXPECT_EQ(files.cause("  - -r one.txt\n"),
            "D/environment.yml:4: two.txt:1: '-c ./one.txt': the file reads itself");
  EXPECT_EQ(files.cause("  - -r https://_u:p@h/x.txt\n"),
            "D/environment.yml:4: '-r https://h/x.txt': a file on the network may be another one tomorrow");
  EXPECT_THAT(files.cause("  - -r far.txt\n"),
              HasSubstr("D/environment.yml:4: far.txt:1: '-r sub/none.txt': cannot open 'D/sub/none.txt'"));
  EXPECT_EQ(files.cause("  - -r bare.txt\n"),
            "D/environment.yml:4: bare.txt:1: '--requirement': no file is named");
  EXPECT_THAT(files.cause("  - -r .\n"), HasSubstr("D/environment.yml:4: '-r .': "));
}

TEST(ReadRequirementFiles, TakesAFileThatIsNamedTwice) {
  const Files files;
  write_file(files.directory / "a.txt", "-r c.txt\n");
  write_file(files.directory / "b.txt", "-r c.txt\n");
  write_file(files.directory / "c.txt", "x\n");
  EXPECT_EQ(files.cause("  - -r a.txt\n  - -r b.txt\n"), "read");
}

}  // namespace
}  // namespace pinstep
