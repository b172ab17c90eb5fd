#include "envtools/plan/prefix.h"

#include "envtools/base/fd.h"
#include "tests/unit/support/random.h"
#include "tests/unit/support/results.h"
#include "tests/unit/support/testdata.h"

namespace pinstep {
namespace {

using testing_support::Random;
using testing_support::shown;
using testing_support::testdata;

std::string long_path(std::size_t size) { return "/" + std::string(size - 1, 'p'); }

TEST(InterpreterLines, ArePlainWhileTheLineFits) {
  const std::string fits = long_path(kShebangLimit - 2);
  EXPECT_EQ(interpreter_lines(fits, ""), "#!" + fits);
  EXPECT_EQ(interpreter_lines("/p/bin/python3.11", "-E"), "#!/p/bin/python3.11 -E");
}

TEST(InterpreterLines, ThatDoNotFitNeedNoPathForPython) {
  const std::string python = long_path(kShebangLimit) + "/bin/python3.11";
  EXPECT_EQ(interpreter_lines(python, ""), "#!/bin/sh\n'''exec' \"" + python + "\" \"$0\" \"$@\" #'''");
  EXPECT_EQ(interpreter_lines("/a b/bin/python", "-E -s"),
            "#!/bin/sh\n'''exec' \"/a b/bin/python\" '-E -s' \"$0\" \"$@\" #'''");
  EXPECT_EQ(interpreter_lines("/a b/bin/python3.13t", ""),
            "#!/bin/sh\n'''exec' \"/a b/bin/python3.13t\" \"$0\" \"$@\" #'''");
}

TEST(InterpreterLines, ThatDoNotFitNameOtherProgramsOfBin) {
  EXPECT_EQ(interpreter_lines("/a b/bin/perl", ""), "#!/usr/bin/env perl");
  EXPECT_EQ(interpreter_lines("/a b/bin/perl", "-w"), "#!/usr/bin/env -S perl -w");
  EXPECT_EQ(interpreter_lines("/a b/bin/python-config", ""), "#!/usr/bin/env python-config");
  EXPECT_EQ(interpreter_lines("/a b/libexec/tool", ""), "#!/a b/libexec/tool");
}

TEST(ReplaceInText, ReplacesEveryOccurrence) {
  EXPECT_EQ(replace_in_text("a=/old b=/old/old\n/old", "/old", "/new"), "a=/new b=/new/new\n/new");
  EXPECT_EQ(replace_in_text("nothing", "/old", "/new"), "nothing");
  EXPECT_EQ(replace_in_text(std::string_view("\0/old\xff", 6), "/old", "/n"), std::string("\0/n\xff", 4));
}

TEST(ReplaceInText, LeavesALineThatFitsAsItIsWritten) {
  EXPECT_EQ(replace_in_text("#! /old/bin/sh  -e \n", "/old", "/new"), "#! /new/bin/sh  -e \n");
  EXPECT_EQ(replace_in_text("#!/usr/bin/env python\n/old", "/old", "/new"), "#!/usr/bin/env python\n/new");
}

TEST(ReplaceInText, MendsTheFirstLineOfRealScript) {
  const std::string path = testdata("conda/conda-meta/rattler--shebang_test.txt");
  if (path.empty()) GTEST_SKIP() << "no test data: conda/conda-meta";
  const std::string text = read_file(path, 1 << 20).value().text;
  std::string prefix = "/super/long/";
  for (int i = 0; i < 15; ++i) prefix += "verylongstring/";
  const std::string replaced = replace_in_text(text, "/this/is/placeholder", prefix + "bin");
  // The reference leaves out -S, with which env looks for a program "executable -m 123123".
  EXPECT_EQ(replaced.substr(0, replaced.find('\n')), "#!/usr/bin/env -S executable -m 123123");
  EXPECT_EQ(replaced.substr(replaced.find('\n')), text.substr(text.find('\n')));
}

struct BinaryCase {
  const char* name;
  std::string before, after;
};

TEST(ReplaceInBinary, FillsUpAtTheEndOfTheRun) {
  using namespace std::string_literals;
  const BinaryCase cases[] = {
      {"one", "x\0/placehold/lib\0y"s, "x\0/new/lib\0\0\0\0\0\0\0y"s},
      {"a list stays one string", "/placehold/a:/placehold/b\0z"s, "/new/a:/new/b\0\0\0\0\0\0\0\0\0\0\0\0\0z"s},
      {"two runs", "/placehold\0/placehold\0"s, "/new\0\0\0\0\0\0\0/new\0\0\0\0\0\0\0"s},
      {"at the end of the file", "x/placehold/y"s, "x/new/y\0\0\0\0\0\0"s},
      {"part of a longer path", "/placeholder\0"s, "/newer\0\0\0\0\0\0\0"s},
      {"nothing", "abc\0def"s, "abc\0def"s},
      {"empty", "", ""},
  };
  for (const BinaryCase& c : cases) {
    EXPECT_EQ(replace_in_binary(c.before, "/placehold", "/new"), c.after) << c.name;
    EXPECT_EQ(restore_binary(c.after, "/placehold", "/new"), c.before) << c.name;
  }
}

TEST(ReplaceInBinary, KeepsTheSizeAndCanBeTakenBack) {
  Random random;
  const std::string placeholder = "/h_placehold_placehold";
  for (int i = 0; i < 2000; ++i) {
    std::string before;
    for (std::size_t pieces = random.below(12); pieces-- > 0;)
      before += random.one_in(3) ? placeholder : random.one_in(3) ? std::string(1, '\0') : random.bytes(0, 6);
    const std::string prefix = random.text("/ab", 5, placeholder.size());
    if (before.find(prefix) != std::string::npos) continue;  // then nobody could tell
    const std::string after = replace_in_binary(before, placeholder, prefix);
    ASSERT_EQ(after.size(), before.size()) << random << shown(before);
    ASSERT_EQ(after.find(placeholder), prefix == placeholder ? after.find(prefix) : std::string::npos);
    if (after.find(prefix) != std::string::npos && prefix != placeholder) {
      ASSERT_EQ(restore_binary(after, placeholder, prefix), before) << random << shown(before) << prefix;
    }
  }
}

TEST(ReplaceScriptInterpreter, ChangesPythonOnly) {
  EXPECT_EQ(replace_script_interpreter("#!python\nx", "/p/bin/python3.11"), "#!/p/bin/python3.11\nx");
  EXPECT_EQ(replace_script_interpreter("#!pythonw -E\r\nx", "/p/bin/python3.11"), "#!/p/bin/python3.11 -E\nx");
  EXPECT_EQ(replace_script_interpreter("#!/bin/sh\nx", "/p/bin/python3.11"), "#!/bin/sh\nx");
  EXPECT_EQ(replace_script_interpreter("", "/p/bin/python3.11"), "");
}

TEST(EntryPointScript, IsWhatTheReferenceWrites) {
  EXPECT_EQ(entry_point_script("/p/bin/python3.11", {"pip", "pip._internal.cli.main", "main.run"}),
            "#!/p/bin/python3.11\n"
            "# -*- coding: utf-8 -*-\n"
            "import re\n"
            "import sys\n"
            "\n"
            "from pip._internal.cli.main import main\n"
            "\n"
            "if __name__ == '__main__':\n"
            "\tsys.argv[0] = re.sub(r'(-script\\.pyw?|\\.exe)?$', '', sys.argv[0])\n"
            "\tsys.exit(main.run())\n");
}

// One text in two prefixes, whose first lines may need different forms, is one canonical text.
TEST(CanonicalText, IsTheSameForEveryPrefix) {
  const std::string placeholder = "/placeholder_placeholder";
  const std::string prefixes[] = {"/s/e/0123456789abcdef", "/a b/e/0123456789abcdef",
                                  "/" + std::string(200, 'x')};
  const std::string texts[] = {
      "#!" + placeholder + "/bin/python3.11\nimport os\n",
      "#!" + placeholder + "/bin/python -E\n" + placeholder + "\n",
      "#! " + placeholder + "/bin/perl -w\n",
      "#!" + placeholder + "/bin/tclsh\n",
      "#!" + placeholder + "/bin/bash",
      "#!" + placeholder + "/bin/python3",
      "#!" + placeholder + "/bin/python3 -E -X 'a'\n",
      "#!/usr/bin/env perl\n" + placeholder,
      "prefix=" + placeholder + "\nlibdir=" + placeholder + "/lib\n",
      "",
  };
  for (const std::string& text : texts) {
    const std::string expected = canonical_text(text, placeholder);
    EXPECT_EQ(expected.find(placeholder), std::string::npos);
    for (const std::string& prefix : prefixes)
      EXPECT_EQ(canonical_text(replace_in_text(text, placeholder, prefix), prefix), expected)
          << prefix << shown(text);
  }
}

TEST(CanonicalText, TellsDifferentInterpretersApart) {
  const auto canonical = [](std::string_view text) { return canonical_text(text, "/p"); };
  EXPECT_NE(canonical("#!/p/bin/python3\n"), canonical("#!/p/evil/python3\n"));
  EXPECT_NE(canonical("#!/p/bin/perl\n"), canonical("#!/p/libexec/perl\n"));
  EXPECT_NE(canonical("#!/p/bin/perl\n"), canonical("#!/usr/bin/perl\n"));
}

}  // namespace
}  // namespace pinstep
