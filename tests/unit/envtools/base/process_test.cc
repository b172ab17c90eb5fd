#include "envtools/base/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "envtools/base/fd.h"
#include "tests/unit/support/child.h"
#include "tests/unit/support/files.h"
#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing_support::ChildEnd;
using testing_support::FailsWith;
using testing_support::in_child;
using testing_support::TemporaryDirectory;
using testing_support::write_file;

constexpr std::size_t kEnough = 1 << 16;

Command shell(const std::string& script, Environment environment = {}) {
  return {{"/bin/sh", "-c", script}, std::move(environment)};
}

CommandResult run_well(const Command& command) {
  auto result = run(command, kEnough);
  if (!result) throw std::runtime_error(result.error().cause);
  return *result;
}

TEST(Run, CollectsStandardOutputAndExitCode) {
  const CommandResult result = run_well(shell("printf 'a\\0b'; exit 7"));
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_EQ(result.signal, 0);
  EXPECT_EQ(result.output, std::string("a\0b", 3));
}

TEST(Run, TellsASignalFromAnExit) {
  const CommandResult result = run_well(shell("kill -TERM $$"));
  EXPECT_EQ(result.signal, SIGTERM);
  EXPECT_EQ(result.exit_code, 0);
}

TEST(Run, PassesArgumentsWithoutAShell) {
  const Command command{{"/usr/bin/printf", "%s|", "a b", "$HOME", "", "*", "'\""}, {}};
  EXPECT_EQ(run_well(command).output, "a b|$HOME||*|'\"|");
}

TEST(Run, GivesTheProgramThisEnvironmentAndNothingElse) {
  const Command command{{"/usr/bin/env"}, Environment{{{"A", "1"}, {"BASH_FUNC_f%%", "() { :; }"}}}};
  EXPECT_EQ(run_well(command).output, "A=1\nBASH_FUNC_f%%=() { :; }\n");
}

TEST(Run, GivesTheProgramItsInputHoweverLong) {
  Command command{{"/usr/bin/wc", "-c"}, {}};
  for (const std::size_t size : {0u, 1u, 1u << 20}) {
    command.input = std::string(size, 'x');
    EXPECT_EQ(run_well(command).output, std::to_string(size) + "\n");
  }
}

TEST(Run, TakesOutputOfExactlyTheLimit) {
  const auto result = run(shell("printf 12345"), 5);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->output, "12345");
}

TEST(Run, KillsAProgramThatWritesMoreThanTheLimit) {
  EXPECT_THAT(run(shell("while :; do echo endless; done"), 1000),
              FailsWith(ErrorKind::corrupt, "the program wrote more than 1000 bytes"));
  EXPECT_THAT(run(shell("printf 123456"), 5),
              FailsWith(ErrorKind::corrupt, "the program wrote more than 5 bytes"));
}

TEST(Run, LeavesNoChildBehind) {
  run_well(shell("exit 0"));
  EXPECT_FALSE(run(shell("while :; do echo endless; done"), 1000));
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(Run, LeaksNoDescriptorIntoTheProgram) {
  const UniqueFd ours(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const auto name = "/proc/self/fd/" + std::to_string(ours.get());
  EXPECT_EQ(run_well(shell("test -e " + name + " || echo none")).output, "none\n");
}

TEST(Run, WorksWhereStandardOutputIsClosed) {
  const ChildEnd end = in_child([] {
    ::close(STDOUT_FILENO);
    const auto result = run(shell("echo seen"), kEnough);
    return result && result->output == "seen\n" ? 0 : 1;
  });
  EXPECT_EQ(end.exit_code, 0);
}

// Some workflow managers ignore SIGCHLD, and what they start inherits that.
TEST(Run, LearnsTheEndAlsoWhereItsCallerIgnoresChildren) {
  const ChildEnd end = in_child([] {
    ::signal(SIGCHLD, SIG_IGN);
    const auto result = run(shell("exit 3"), kEnough);
    const bool is_ignored_again = ::signal(SIGCHLD, SIG_DFL) == SIG_IGN;
    return result && result->exit_code == 3 && is_ignored_again ? 0 : 1;
  });
  EXPECT_EQ(end.exit_code, 0);
}

class FindProgram : public testing::Test {
 protected:
  // A program that says where it is.
  void make_program(const std::string& directory, const std::string& name = "tool") {
    write_file(directory_ / (directory + "/" + name), "#!/bin/sh\necho " + directory + "\n", 0755);
  }
  Command tool_on(const std::string& path) const { return {{"tool"}, Environment{{{"PATH", path}}}}; }
  std::string at(const std::string& name) const { return directory_ / name; }

  TemporaryDirectory directory_;
};

TEST_F(FindProgram, SearchesThePathOfTheGivenEnvironmentInOrder) {
  make_program("one");
  make_program("two");
  EXPECT_EQ(run_well(tool_on(at("absent") + ":" + at("two") + ":" + at("one"))).output, "two\n");
  EXPECT_EQ(run_well(tool_on(at("one") + ":" + at("two"))).output, "one\n");
}

TEST_F(FindProgram, DoesNotSearchThePathOfThisProcess) {
  make_program("one");
  const ChildEnd end = in_child([&] {
    ::setenv("PATH", at("one").c_str(), 1);
    const auto result = run(tool_on(at("absent")), kEnough);
    return !result && result.error().cause == "'tool' is not on PATH" ? 0 : 1;
  });
  EXPECT_EQ(end.exit_code, 0);
}

TEST_F(FindProgram, PassesOverDirectoriesAndFilesThatCannotRun) {
  std::filesystem::create_directories(at("one/tool"));
  write_file(at("two/tool"), "no program", 0644);
  make_program("three");
  EXPECT_EQ(run_well(tool_on(at("one") + ":" + at("two") + ":" + at("three"))).output, "three\n");
}

TEST_F(FindProgram, TellsAProgramThatCannotRunFromNone) {
  write_file(at("one/tool"), "no program", 0644);
  EXPECT_THAT(run(tool_on(at("one")), kEnough),
              FailsWith(ErrorKind::refused, "'tool' is on PATH and not executable"));
  EXPECT_THAT(run(tool_on(at("absent")), kEnough), FailsWith(ErrorKind::not_found, "'tool' is not on PATH"));
  EXPECT_THAT(run({{""}, {}}, kEnough), FailsWith(ErrorKind::not_found, "the name of the program is empty"));
  EXPECT_THAT(run({{}, {}}, kEnough), FailsWith(ErrorKind::not_found, "the name of the program is empty"));
}

TEST_F(FindProgram, TakesAnEmptyElementForTheWorkingDirectory) {
  make_program("one");
  const ChildEnd end = in_child([&] {
    if (::chdir(at("one").c_str()) != 0) return 1;
    const auto result = run(tool_on("/nowhere:"), kEnough);
    return result && result->output == "one\n" ? 0 : 2;
  });
  EXPECT_EQ(end.exit_code, 0);
}

TEST_F(FindProgram, SearchesTheUsualDirectoriesWithoutPath) {
  EXPECT_EQ(run_well({{"printf", "found"}, {}}).output, "found");
}

TEST_F(FindProgram, DoesNotSearchForANameWithASlash) {
  make_program("one");
  EXPECT_THAT(run({{"./tool"}, Environment{{{"PATH", at("one")}}}}, kEnough),
              FailsWith(ErrorKind::not_found, "cannot run './tool': No such file or directory"));
  EXPECT_EQ(run_well({{at("one/tool")}, {}}).output, "one\n");
}

TEST_F(FindProgram, SaysWhatTheSystemSaysOfAProgramThatCannotStart) {
  write_file(at("two/tool"), "#!/no/such/interpreter\n", 0755);
  EXPECT_THAT(
      run(tool_on(at("two")), kEnough),
      FailsWith(ErrorKind::not_found, "cannot run '" + at("two/tool") + "': No such file or directory"));
}

// The child's exit code is that of the error, its output the cause: as a launcher does at its edge.
ChildEnd exec_in_child(const Command& command) {
  return in_child([&] {
    const Error error = exec(command);
    write_message(STDOUT_FILENO, error.cause);
    return exec_exit_code(error);
  });
}

TEST_F(FindProgram, ReplacesThisProcessOnExec) {
  make_program("one");
  EXPECT_EQ(exec_in_child(tool_on(at("one"))).output, "one\n");
  const ChildEnd end = exec_in_child(shell("echo $A; exit 9", Environment{{{"A", "1"}}}));
  EXPECT_EQ(end.output, "1\n");
  EXPECT_EQ(end.exit_code, 9);
}

TEST_F(FindProgram, RunsAScriptWithoutInterpreterLineOnExec) {
  write_file(at("one/tool"), "echo \"$0 $1\"\n", 0755);
  Command command = tool_on(at("one"));
  command.argv.push_back("an argument");
  EXPECT_EQ(exec_in_child(command).output, at("one/tool") + " an argument\n");
}

TEST_F(FindProgram, EndsAFailedExecAsEnvDoes) {
  write_file(at("one/tool"), "no program", 0644);
  struct Case {
    Command command;
    int exit_code;
    std::string cause;
  };
  const Case cases[] = {
      {tool_on(at("absent")), 127, "'tool' is not on PATH"},
      {tool_on(at("one")), 126, "'tool' is on PATH and not executable"},
      {{{"/no/such/program"}, {}}, 127, "cannot run '/no/such/program': No such file or directory"},
      {{{directory_.path()}, {}}, 126, "cannot run '" + directory_.path() + "': Permission denied"},
      {{{""}, {}}, 127, "the name of the program is empty"},
      {{{}, {}}, 127, "the name of the program is empty"},
  };
  for (const Case& c : cases) {
    const ChildEnd end = exec_in_child(c.command);
    EXPECT_EQ(end.exit_code, c.exit_code) << c.cause;
    EXPECT_EQ(end.output, c.cause);
  }
}

TEST(Run, CollectsWhatAProgramComplainsOf) {
  const auto result = run({{"/bin/sh", "-c", "echo out; echo err >&2"}, {}, "", true}, 100);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->output, "out\n");
  EXPECT_EQ(result->errors, "err\n");
  EXPECT_EQ(run({{"/bin/sh", "-c", "echo 12345 >&2"}, {}, "", true}, 3)->errors, "123");
}

TEST(Run, EndsAProgramThatTakesTooLong) {
  const auto began = std::chrono::steady_clock::now();
  const auto run_for = [](const char* script, int limit) {
    return run({{"/bin/sh", "-c", script}, {}, "", false, std::chrono::milliseconds(limit)}, 100);
  };
  for (const char* script : {"exec sleep 60", "echo begun; exec sleep 60"}) {
    const auto result = run_for(script, 50);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().kind, ErrorKind::timed_out) << script;
  }
  EXPECT_EQ(run_for("trap '' TERM; exec sleep 60", 50).error().kind, ErrorKind::timed_out);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
  EXPECT_EQ(run_for("sleep 0.1; echo done", 20000)->output, "done\n");
}

TEST(ProcessEnvironment, IsReadAndReplacedAsAWhole) {
  const ChildEnd end = in_child([] {
    ::clearenv();
    ::setenv("KEPT", "1", 1);
    ::setenv("CHANGED", "1", 1);
    ::setenv("GONE", "1", 1);
    if (process_environment() != Environment{{{"KEPT", "1"}, {"CHANGED", "1"}, {"GONE", "1"}}}) return 1;
    const Environment after{{{"KEPT", "1"}, {"CHANGED", ""}, {"NEW%%", "a=b\n"}}};
    replace_process_environment(after);
    if (process_environment() != after) return 2;
    ::execl("/usr/bin/env", "env", static_cast<char*>(nullptr));
    return 3;
  });
  EXPECT_EQ(end.exit_code, 0);
  EXPECT_EQ(end.output, "KEPT=1\nCHANGED=\nNEW%%=a=b\n\n");
}

}  // namespace
}  // namespace pinstep
