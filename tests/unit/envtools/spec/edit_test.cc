#include "envtools/spec/edit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "envtools/base/fd.h"
#include "envtools/spec/check.h"
#include "envtools/spec/spec.h"
#include "tests/unit/support/results.h"
#include "tests/unit/support/testdata.h"

namespace pinstep {
namespace {

using testing_support::FailsWith;

constexpr const char* kPath = "/x/environment.yml";

std::string added(std::string_view text, Section section, std::string_view wanted) {
  const auto edited = add_to_spec(text, kPath, section, wanted);
  return edited ? *edited : "error: " + edited.error().cause;
}
std::string removed(std::string_view text, Section section, std::string_view name) {
  const auto edited = remove_from_spec(text, kPath, section, name);
  return edited ? *edited : "error: " + edited.error().cause;
}

constexpr std::string_view kSpec =
    "# ours\n"
    "name: train\n"
    "dependencies:\n"
    "    - python=3.12   # not 3.13 yet\n"
    "    - \"NumPy\"\n"
    "    - pip\n"
    "    # what conda does not have\n"
    "    - pip:\n"
    "        - einops>=0.7  # and its kind\n"
    "variables: {A: b}\n";

std::string with(std::string text, std::string_view from, std::string_view to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST(EditSpec, AddsBehindTheLastOfItsList) {
  EXPECT_EQ(added(kSpec, Section::conda, "xz>=5,<6"),
            with(std::string(kSpec), "    - pip\n", "    - pip\n    - xz>=5,<6\n"));
  EXPECT_EQ(added(kSpec, Section::pip, "rich"),
            with(std::string(kSpec), "and its kind\n", "and its kind\n        - rich\n"));
}

TEST(EditSpec, ReplacesTheLineOfThePackageAndKeepsItsComment) {
  EXPECT_EQ(added(kSpec, Section::conda, "python=3.13"),
            with(std::string(kSpec), "python=3.12 ", "python=3.13 "));
  EXPECT_EQ(added(kSpec, Section::conda, "conda-forge::numpy>=2"),
            with(std::string(kSpec), "\"NumPy\"", "conda-forge::numpy>=2"));
  EXPECT_EQ(added(kSpec, Section::pip, "Einops==0.8"),
            with(std::string(kSpec), "einops>=0.7 ", "Einops==0.8 "));
}

TEST(EditSpec, RemovesTheLine) {
  EXPECT_EQ(removed(kSpec, Section::conda, "numpy"), with(std::string(kSpec), "    - \"NumPy\"\n", ""));
  EXPECT_EQ(removed(kSpec, Section::pip, "EINOPS"),
            with(std::string(kSpec), "        - einops>=0.7  # and its kind\n", ""));
  EXPECT_THAT(remove_from_spec(kSpec, kPath, Section::conda, "einops"),
              FailsWith(ErrorKind::not_found, "'/x/environment.yml' does not list 'einops'",
                        "--pip looks in pip's list"));
}

TEST(EditSpec, MakesTheListsThatAreMissing) {
  EXPECT_EQ(added("dependencies:\n", Section::conda, "xz"), "dependencies:\n  - xz\n");
  EXPECT_EQ(added("dependencies:\n- xz", Section::conda, "python"), "dependencies:\n- xz\n- python");
  EXPECT_EQ(added("dependencies:\n  - xz\n", Section::pip, "rich"),
            "dependencies:\n  - xz\n  - pip\n  - pip:\n      - rich\n");
  EXPECT_EQ(added("dependencies:\n- pip\n- xz\n", Section::pip, "rich"),
            "dependencies:\n- pip\n- xz\n- pip:\n    - rich\n");
  EXPECT_EQ(added("dependencies:\n  - pip\n  - pip:\n", Section::pip, "rich"),
            "dependencies:\n  - pip\n  - pip:\n      - rich\n");
}

TEST(EditSpec, WhatItCannotEditIsAnErrorAndNothingElse) {
  for (const char* text : {"dependencies: [xz, python]\n", "dependencies: [xz,\n  python]\n",
                           "dependencies:\n  - pip\n  - pip:\n    - |\n      rich\n      einops\n"}) {
    const bool pip = std::string_view(text).find("pip:") != std::string_view::npos;
    const auto edited = add_to_spec(text, kPath, pip ? Section::pip : Section::conda, "attrs");
    ASSERT_FALSE(edited) << *edited;
    EXPECT_EQ(edited.error().kind, ErrorKind::unsupported) << edited.error().cause;
  }
  EXPECT_EQ(added(kSpec, Section::conda, "fsspec[http]"),
            "error: 'fsspec[http]' asks for an extra, which conda packages do not have");
  EXPECT_EQ(added(kSpec, Section::conda, ">=2"), "error: '>=2' names no package");
  EXPECT_EQ(added(kSpec, Section::pip, "-e ."), "error: '-e .' names no package");
}

// Whatever people write: adding and removing gives the file that was there.
TEST(EditSpec, RemovingUndoesAddingInRealFiles) {
  const std::string directory = testing_support::testdata("conda/environments");
  if (directory.empty()) GTEST_SKIP() << "no test data: conda/environments";
  std::size_t edited = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    const auto spec = entry.is_regular_file() ? load_spec(entry.path()) : fail(ErrorKind::invalid, "");
    if (!spec || spec->conda.empty()) continue;
    const std::string text = read_file(entry.path(), kSpecSizeLimit)->text;
    const auto more = add_to_spec(text, entry.path(), Section::conda, "pinstep-test>=1");
    if (!more) {
      EXPECT_EQ(more.error().kind, ErrorKind::unsupported) << entry.path() << more.error().cause;
      continue;
    }
    const auto less = remove_from_spec(*more, entry.path(), Section::conda, "pinstep-test");
    ASSERT_TRUE(less) << entry.path() << less.error().cause;
    EXPECT_EQ(*less, text) << entry.path();
    ++edited;
  }
  EXPECT_GE(edited, 20u);
}

TEST(RequirementName, IsNormalizedAndEmptyForWhatHasNone) {
  const std::pair<const char*, const char*> cases[] = {{"Torch==2.1", "torch"},
                                                       {"zope.interface", "zope-interface"},
                                                       {"a__b-.c[x]>=1", "a-b-c"},
                                                       {"torch @ https://x", "torch"},
                                                       {"-e .", ""},
                                                       {"--index-url x", ""},
                                                       {"git+https://x/y", ""},
                                                       {"./x.whl", ""},
                                                       {"a;python_version<'3'", "a"}};
  for (const auto& [line, name] : cases) EXPECT_EQ(requirement_name(line), name) << line;
}

}  // namespace
}  // namespace pinstep
