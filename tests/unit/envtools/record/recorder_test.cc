#include "envtools/record/recorder.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "envtools/activation/activation.h"
#include "tests/unit/support/files.h"

namespace pinstep {

void PrintTo(const RecordedEdit& edit, std::ostream* out) {
  *out << to_string(edit.op) << " " << edit.name << " " << edit.value;
}

namespace {

using testing_support::TemporaryDirectory;
using testing_support::write_file;

constexpr const char* kPrefix = "/store/e/0123456789abcdef";

struct Recorded {
  std::vector<RecordedEdit> edits;  // those of the scripts
  std::string notes;
};

Recorded record(const std::vector<std::string>& scripts) {
  const TemporaryDirectory stage;
  char name = 'a';
  for (const std::string& script : scripts)
    write_file(stage / ("etc/conda/activate.d/" + std::string(1, name++) + ".sh"), script);
  const auto recording = record_activation({stage.path(), kPrefix, {}});
  EXPECT_TRUE(recording) << recording.error().cause;
  if (!recording) return {};
  EXPECT_FALSE(std::filesystem::exists(stage / ".activation-answer"));
  Recorded recorded;
  recorded.edits.assign(recording->edits.begin() + 4, recording->edits.end());
  for (const std::string& note : recording->notes) recorded.notes += note + "\n";
  EXPECT_TRUE(Activation::parse(format_recording(std::string(64, 'a'), *recording), "x"));
  return recorded;
}

const std::string kAt = kPrefix;

struct Script {
  const char* what;
  std::string text;
  std::vector<RecordedEdit> edits;
  const char* note = "";  // part of the notes
};

TEST(Recorder, FindsOutWhatScriptsDo) {
  const std::vector<Script> table{
      {"nothing", "true", {}},
      {"constant", "export A=1", {{EditOp::set, "A", "1"}}},
      {"not exported", "A=1", {}},
      {"empty", "export A=", {{EditOp::set, "A", ""}}},
      {"prefix", "export A=$CONDA_PREFIX/share", {{EditOp::set, "A", kAt + "/share"}}},
      {"newline", "export A='x\ny'", {{EditOp::set, "A", "x\ny"}}},
      {"prepend", "export L=\"$CONDA_PREFIX/lib${L:+:$L}\"", {{EditOp::prepend, "L", kAt + "/lib"}}},
      {"prepend with a colon left", "export L=\"/x:$L\"", {{EditOp::prepend, "L", "/x"}}},
      {"prepend two",
       "export LD_LIBRARY_PATH=/x:/y:$LD_LIBRARY_PATH",
       {{EditOp::prepend, "LD_LIBRARY_PATH", "/y"}, {EditOp::prepend, "LD_LIBRARY_PATH", "/x"}}},
      {"append", "export L=\"${L:+$L:}/x\"", {{EditOp::append, "L", "/x"}}},
      {"relative on PATH", "export PATH=some/bin:$PATH", {{EditOp::prepend, "PATH", "some/bin"}}},
      {"behind on PATH", "export PATH=$PATH:/x", {{EditOp::append, "PATH", "/x"}}},
      {"unset", "export PYTHONPATH; unset PYTHONPATH", {{EditOp::unset, "PYTHONPATH", ""}}},
      {"PATH replaced", "export PATH=/x", {{EditOp::set, "PATH", "/x"}}},
      {"flags", "export F=\"-I/x $F\"", {{EditOp::set, "F", "-I/x "}}, "'F' depends on its value outside"},
      {"default", "export F=\"${F:-x}\"", {{EditOp::set, "F", "x"}}, "'F' depends on its value outside"},
      {"backup", "[ -z \"$LD_LIBRARY_PATH\" ] || export CONDA_BACKUP_L=$LD_LIBRARY_PATH", {}},
      {"home", "export H=$HOME/x", {}, "'H' depends on the user or the machine"},
      {"directory", "export H=$PWD", {}, "'H' depends on the user or the machine"},
      {"random", "export H=$RANDOM$RANDOM$RANDOM", {}, "'H' depends on the user or the machine"},
      {"only if set",
       "[ -z \"$MANPATH\" ] || export MANPATH=/x",
       {},
       "'MANPATH' is changed by the activation scripts only where it is set"},
      {"function", "f() { :; }; export -f f", {}, "shell function 'f'"},
      {"preload",
       "export LD_PRELOAD=/nonexistent.so",
       {{EditOp::set, "LD_PRELOAD", "/nonexistent.so"}},
       "'LD_PRELOAD'"},
      {"noise", "echo noise; cat; export A=1; set -eu; false || :", {{EditOp::set, "A", "1"}}},
      {"failure", "export A=1; return 3", {{EditOp::set, "A", "1"}}},
      {"process left running", "sleep 5 & export A=1", {{EditOp::set, "A", "1"}}},
      {"arguments", "export A=\"$#\"", {{EditOp::set, "A", "0"}}},
  };
  for (const Script& script : table) {
    const Recorded recorded = record({script.text});
    EXPECT_EQ(recorded.edits, script.edits) << script.what;
    if (*script.note == '\0')
      EXPECT_EQ(recorded.notes, "") << script.what;
    else
      EXPECT_NE(recorded.notes.find(script.note), std::string::npos) << script.what << ": " << recorded.notes;
  }
}

TEST(Recorder, SourcesScriptsInTheOrderOfTheirNames) {
  const Recorded recorded = record({"export A=1", "export A=${A}2; export B=$A"});
  EXPECT_EQ(recorded.edits, (std::vector<RecordedEdit>{{EditOp::set, "A", "12"}, {EditOp::set, "B", "12"}}));
}

TEST(Recorder, RefusesScriptsThatEndTheShell) {
  const TemporaryDirectory stage;
  write_file(stage / "etc/conda/activate.d/bad.sh", "exit 0");
  const auto recording = record_activation({stage.path(), kPrefix, {}});
  ASSERT_FALSE(recording);
  EXPECT_EQ(recording.error().kind, ErrorKind::corrupt);
  EXPECT_NE(recording.error().hint.find("'bad.sh'"), std::string::npos);
}

TEST(PlainEdits, ArePathCondaAndVariablesInCondasOrder) {
  const auto recording = plain_edits("/p", {{"a.json", R"({"A": "old", "B": 1, "PATH": "/x"})"}},
                                     {{"A", "new"}, {"GONE", "***unset***"}, {"lower", "$HOME it's"}});
  ASSERT_TRUE(recording);
  EXPECT_EQ(recording->edits, (std::vector<RecordedEdit>{{EditOp::prepend, "PATH", "/p/bin"},
                                                         {EditOp::set, "CONDA_PREFIX", "/p"},
                                                         {EditOp::set, "CONDA_DEFAULT_ENV", "/p"},
                                                         {EditOp::set, "CONDA_SHLVL", "1"},
                                                         {EditOp::set, "A", "new"},
                                                         {EditOp::set, "B", "1"},
                                                         {EditOp::unset, "GONE", ""},
                                                         {EditOp::set, "lower", "$HOME it's"}}));
  EXPECT_EQ(recording->notes.size(), 1u);
}

TEST(PlainEdits, RefuseNamesThatNoEnvironmentCanHold) {
  for (const char* name : {"", "A=B", "A B", "A\nB"}) {
    const auto recording = plain_edits("/p", {}, {{name, "x"}});
    ASSERT_FALSE(recording) << name;
    EXPECT_EQ(recording.error().kind, ErrorKind::invalid);
  }
  EXPECT_FALSE(plain_edits("/p", {{"a.json", "[]"}}, {}));
}

}  // namespace
}  // namespace pinstep
