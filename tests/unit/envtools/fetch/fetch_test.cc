// How the caller's side treats the program; shell scripts play it. What the program itself does is tested in
// tests/envtools/test_fetch.py.
#include "envtools/fetch/fetch.h"

#include "envtools/base/process.h"
#include "tests/unit/support/files.h"
#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing::ElementsAre;
using testing_support::FailsWith;
using testing_support::TemporaryDirectory;
using testing_support::write_file;

class Fetch : public testing::Test {
 protected:
  Result<void> run(const std::string& body) {
    const std::string program = directory_ / "program";
    write_file(program, "#!/bin/sh\n" + body, 0755);
    return fetch(program, process_environment(), job_, [this](const FetchEvent& event) {
      told_.push_back(std::to_string(event.file) + ":" + std::to_string(event.bytes));
    });
  }

  TemporaryDirectory directory_;
  FetchJob job_{1, 1, 1, {{{"file:///x"}, "", "", 0, "/x"}, {{"file:///y"}, "", "", 0, "/y"}}};
  std::vector<std::string> told_;
};

TEST_F(Fetch, HandsOnEventsInTheirOrder) {
  EXPECT_TRUE(run(R"(
    grep -q '"path":"/y"' || exit 2
    printf '{"event": "progress", "file": 1, "byt'; sleep 0.05; echo 'es": 5}'
    echo '{"event": "done", "file": 1, "bytes": 6, "sha256": ""}'
    echo '{"event": "done", "file": 0, "bytes": 7, "sha256": ""}')"));
  EXPECT_THAT(told_, ElementsAre("1:5", "1:6", "0:7"));
}

TEST_F(Fetch, GivesTheErrorOfTheFirstFileThatFailed) {
  EXPECT_THAT(run(R"(
    echo '{"event": "failed", "file": 1, "kind": "no_space", "cause": "full", "hint": "make room"}'
    echo '{"event": "failed", "file": 0, "kind": "network", "cause": "gone", "hint": ""}'
    exit 1)"),
              FailsWith(ErrorKind::no_space, "full", "make room"));
}

TEST_F(Fetch, DoesNotTakeAnEarlyEndForSuccess) {
  const std::string program = directory_ / "program";
  EXPECT_THAT(run(R"(echo '{"event": "done", "file": 0, "bytes": 7, "sha256": ""}')"),
              FailsWith(ErrorKind::os, "'" + program + "' ended with exit code 0 before all files were there"));
  EXPECT_THAT(run("kill -9 $$"),
              FailsWith(ErrorKind::os, "'" + program + "' ended with signal 9 before all files were there"));
}

TEST_F(Fetch, EndsAProgramThatMakesNoSense) {
  EXPECT_THAT(run("echo nonsense; sleep 60"), testing::Not(testing_support::Succeeds()));
  EXPECT_THAT(run(R"(echo '{"event": "done", "file": 9}'; sleep 60)"),
              FailsWith(ErrorKind::invalid, "a fetch event names no file of the job"));
}

TEST_F(Fetch, SaysThatThereIsNoSuchProgram) {
  const auto result = fetch("/nowhere/pinstep-fetch", process_environment(), job_, [](const FetchEvent&) {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::not_found);
}

}  // namespace
}  // namespace pinstep
