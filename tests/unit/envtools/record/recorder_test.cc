#include "envtools/record/recorder.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "envtools/activation/activation.h"
#include "envtools/record/shell.h"
#include "tests/unit/support/files.h"

namespace pinstep {

void PrintTo(const RecordedEdit& edit, std::ostream* out) {
  *out << to_string(edit.op) << " " << edit.name << " " << edit.value;
}

namespace {

using testing_support::OrdinaryUser;
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

// A chroot and many a container forbid them.
bool user_namespaces_are_allowed() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::unshare(CLONE_NEWUSER));
  int status = 1;
  ::waitpid(child, &status, 0);
  return status == 0;
}

TEST(Recorder, NoticesTheUserWhereItCanBeAnother) {
  if (!user_namespaces_are_allowed()) GTEST_SKIP() << "no user namespaces";
  const Recorded recorded = record({"export U=$(id -u)"});
  EXPECT_EQ(recorded.edits, std::vector<RecordedEdit>{});
  EXPECT_NE(recorded.notes.find("'U' depends on the user or the machine"), std::string::npos) << recorded.notes;
}

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
      {"trap that prints", "set -T; trap 'echo X=1; echo' DEBUG; export A=1", {{EditOp::set, "A", "1"}}},
      {"function of a builtin's name",
       "printf() { :; }; compgen() { :; }; exec() { :; }; export A=1",
       {{EditOp::set, "A", "1"}},
       "shell function 'exec'"},
      {"the recorder's words",
       "__pinstep_scripts=(); export __pinstep_script A=1",
       {{EditOp::set, "A", "1"}},
       "'__pinstep_script' is not recorded"},
      {"host", "export H=$(uname -n)", {}, "'H' "},
      {"kernel", "export K=$(uname -r)", {}, "'K' names the machine"},
      {"mask", "export M=$(umask)", {}, "'M' depends on the user or the machine"},
      {"limits",
       "export L=$(ulimit -n) S=$SHELL T=${TMPDIR:-/tmp}",
       {},
       "'L' depends on the user or the machine and is not recorded\n"
       "'S' depends on the user or the machine and is not recorded\n"
       "'T' depends on the user or the machine"},
      {"what is the step's",
       "export RANK=1 MASTER_ADDR=x SLURM_JOB_ID=1 PINSTEP_STORE=/x HOME=/x PMIX_MCA_gds=hash",
       {{EditOp::set, "PMIX_MCA_gds", "hash"}},
       "'RANK' is not recorded: each process of a step has its own"},
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

TEST(Recorder, LeavesOutTheNumberOfCpus) {
  cpu_set_t cpus;
  ASSERT_EQ(::sched_getaffinity(0, sizeof cpus, &cpus), 0);
  if (CPU_COUNT(&cpus) == 1) GTEST_SKIP() << "no second CPU";
  EXPECT_NE(record({"export N=$(nproc)"}).notes.find("'N' depends on the user or the machine"),
            std::string::npos);
}

struct Failure {
  const char* what;
  std::string script;
  std::string cause;
};

TEST(Recorder, SaysHowScriptsWentWrong) {
  const std::string all = "the environment's activation scripts ";
  const std::vector<Failure> table{
      {"exit", "exit 0", all + "end the shell that sources them"},
      {"error", "set -e; false", all + "end the shell that sources them"},
      {"signal", "kill -9 $$", all + "were ended by signal 9"},
      {"signal to the parent", "kill -9 $PPID; sleep 20", all + "were ended by signal 9"},
      {"signal to the group", "kill -TERM 0", all + "were ended by signal 15"},
      {"large", "export A=$(head -c 3000000 /dev/zero | tr '\\0' x)",
       all + "leave an environment that is too large to start a program in"},
  };
  for (const Failure& failure : table) {
    const TemporaryDirectory stage;
    write_file(stage / "etc/conda/activate.d/bad.sh", failure.script);
    const auto recording = record_activation({stage.path(), kPrefix, {}});
    ASSERT_FALSE(recording) << failure.what;
    EXPECT_EQ(recording.error().kind, ErrorKind::corrupt) << failure.what;
    EXPECT_EQ(recording.error().cause, failure.cause) << failure.what;
  }
}

TEST(Recorder, RefusesScriptsThatChangeTheTree) {
  // With chmod, as root does not need it.
  const std::string writable = "chmod -R u+w $CONDA_PREFIX; ";
  const std::vector<Failure> table{
      {"remove", writable + "rm -r $CONDA_PREFIX/bin", "remove 'bin'"},
      {"remove all", writable + "rm -r $CONDA_PREFIX", "remove '"},
      {"make", writable + "echo x > $CONDA_PREFIX/bin/new", "make 'bin/new'"},
      {"link", writable + "ln -s /etc/passwd $CONDA_PREFIX/link", "make 'link'"},
      {"change", writable + "echo x > $CONDA_PREFIX/bin/tool", "change 'bin/tool'"},
      {"replace", writable + "cd $CONDA_PREFIX/bin; cp -p tool t; mv t tool; touch -d @0 .; chmod 555 .",
       "change 'bin"},
      {"mode", "chmod 777 $CONDA_PREFIX/bin", "change 'bin'"},
  };
  for (const Failure& failure : table) {
    const TemporaryDirectory stage;
    write_file(stage / "bin/tool", "tool");
    write_file(stage / "etc/conda/activate.d/bad.sh", failure.script);
    const auto recording = record_activation({stage.path(), kPrefix, {}});
    ASSERT_FALSE(recording) << failure.what;
    EXPECT_EQ(recording.error().kind, ErrorKind::corrupt) << failure.what;
    EXPECT_NE(recording.error().cause.find("the environment's activation scripts " + failure.cause),
              std::string::npos)
        << failure.what << ": " << recording.error().cause;
    std::error_code ignored;  // it may be gone
    for (const char* directory : {"/bin", "/etc/conda/activate.d", "/etc/conda", "/etc", ""})
      std::filesystem::permissions(stage.path() + directory, std::filesystem::perms::owner_all, ignored);
  }
}

TEST(Recorder, KeepsAnOrdinaryUsersScriptsFromWriting) {
  constexpr uid_t kNobody = 65534;
  const TemporaryDirectory stage;
  ASSERT_TRUE(::geteuid() != 0 || ::chown(stage.path().c_str(), kNobody, kNobody) == 0);
  const OrdinaryUser user;
  write_file(stage / "bin/tool", "tool");
  write_file(stage / "etc/conda/activate.d/a.sh",
             "echo x > $CONDA_PREFIX/bin/tool; rm -rf $CONDA_PREFIX/bin; mkdir $CONDA_PREFIX/new; "
             "ln -s /etc/passwd $CONDA_PREFIX/.activation-answer; export A=1");
  const auto recording = record_activation({stage.path(), kPrefix, {}});
  ASSERT_TRUE(recording) << recording.error().cause;
  // Of a process with two user ids the loader takes variables away.
  EXPECT_EQ(std::count(recording->edits.begin(), recording->edits.end(), RecordedEdit{EditOp::set, "A", "1"}),
            1);
  EXPECT_TRUE(std::filesystem::exists(stage / "bin/tool"));
  EXPECT_EQ(std::filesystem::status(stage / "bin").permissions(), std::filesystem::perms(0755));
}

// A process with this word among its arguments, other than those that look for it.
bool is_running(const std::string& word) {
  for (const auto& process : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(process.path() / "cmdline");
    const std::string line{std::istreambuf_iterator<char>(file), {}};
    if (line.starts_with("sleep") && line.find(word) != std::string::npos) return true;
  }
  return false;
}

TEST(Recorder, LeavesNoProcessRunning) {
  const std::string seconds = "300." + std::to_string(::getpid());
  const Recorded recorded =
      record({"sleep " + seconds + " & (setsid sleep " + seconds + " & ) ; trap '' TERM; export A=1"});
  EXPECT_EQ(recorded.edits, (std::vector<RecordedEdit>{{EditOp::set, "A", "1"}}));
  EXPECT_FALSE(is_running(seconds));
}

const Environment kPlain(Environment::Variables{{"PATH", "/usr/bin:/bin"}});

TEST(Shell, EndsWhatIgnoresSignalsWhenItsTimeIsOver) {
  const std::string seconds = "301." + std::to_string(::getpid());
  const auto end =
      run_shell({{"/bin/bash", "-c", "trap '' TERM INT HUP; while :; do sleep " + seconds + "; done"},
                 kPlain,
                 Circumstances::usual,
                 1},
                100);
  ASSERT_TRUE(end);
  EXPECT_TRUE(end->timed_out);
  EXPECT_FALSE(is_running(seconds));
}

TEST(Shell, HasNoTerminalAndNoInput) {
  const auto end =
      run_shell({{"/bin/bash", "-c", "cat; : 2>/dev/null </dev/tty || echo none >&101"}, kPlain}, 100);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->remarks, "none\n");
}

TEST(Shell, EndsWithTheProcessThatAsked) {
  const std::string seconds = "302." + std::to_string(::getpid());
  const pid_t asking = ::fork();
  ASSERT_GE(asking, 0);
  if (asking == 0) {
    (void)run_shell({{"/bin/bash", "-c", "setsid sleep " + seconds + " & sleep " + seconds}, kPlain}, 100);
    ::_exit(0);
  }
  for (int i = 0; i < 500 && !is_running(seconds); ++i) ::usleep(10'000);
  EXPECT_TRUE(is_running(seconds));
  ::kill(asking, SIGKILL);
  ::waitpid(asking, nullptr, 0);
  for (int i = 0; i < 500 && is_running(seconds); ++i) ::usleep(10'000);
  EXPECT_FALSE(is_running(seconds));
}

TEST(PlainEdits, LeaveOutWhatIsTheStepsAndNoteWhatAffectsAll) {
  const auto recording =
      plain_edits("/p", {{"a.json", R"({"RANK": "1", "LD_PRELOAD": "/x.so"})"}}, {{"SLURM_JOB_ID", "1"}});
  ASSERT_TRUE(recording);
  ASSERT_EQ(recording->edits.size(), 5u);
  EXPECT_EQ(recording->edits.back(), (RecordedEdit{EditOp::set, "LD_PRELOAD", "/x.so"}));
  EXPECT_EQ(recording->notes.size(), 3u);
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
