#include "envtools/solver/setup.h"

#include <unistd.h>

#include "tests/unit/support/files.h"
#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing::Optional;
using testing_support::FailsWith;
using testing_support::Holds;
using testing_support::TemporaryDirectory;
using testing_support::write_file;

TEST(SolverDirectory, IsTheUsersStateDirectory) {
  EXPECT_THAT(default_solver_directory(Environment{{{"HOME", "/h"}}}),
              Holds(std::string("/h/.local/state/pinstep/solver")));
  EXPECT_THAT(default_solver_directory(Environment{{{"HOME", "/h"}, {"XDG_STATE_HOME", "/s"}}}),
              Holds(std::string("/s/pinstep/solver")));
  EXPECT_THAT(default_solver_directory(Environment{{{"XDG_STATE_HOME", "relative"}}}),
              FailsWith(ErrorKind::not_found, "there is no home directory to keep the solver in",
                        "set HOME or XDG_STATE_HOME, or name a directory: --dir=DIR"));
}

class FindSolver : public testing::Test {
 protected:
  FindSolver() { write_file(directory_ / "scripts/requirements.txt", "x==1\n"); }

  void make(const std::string& directory) {
    write_file(directory_ / (directory + "/" + stamp_ + "/bin/python"), "#!/bin/sh\n", 0755);
  }
  auto found(const std::string& configured) {
    return find_solver_programs(Environment{{{"HOME", directory_.path()}}},
                                {configured, directory_ / "scripts"});
  }

  const TemporaryDirectory directory_;
  const std::string stamp_ = solver_stamp("x==1\n");
};

TEST_F(FindSolver, TheConfiguredOneComesFirst) {
  make("site");
  make(".local/state/pinstep/solver");
  EXPECT_EQ(found(directory_ / "site")->python, directory_ / ("site/" + stamp_ + "/bin/python"));
  EXPECT_EQ(found("")->python, directory_ / (".local/state/pinstep/solver/" + stamp_ + "/bin/python"));
  EXPECT_EQ(found("/absent")->python, found("")->python);
}

TEST_F(FindSolver, AnotherVersionsDoesNotCount) {
  write_file(directory_ / "site/0123456789abcdef/bin/python", "#!/bin/sh\n", 0755);
  EXPECT_THAT(find_solver(directory_ / "site", "0123456789abcdef"), Optional(testing::_));
  const auto programs = found(directory_ / "site");
  ASSERT_FALSE(programs);
  EXPECT_EQ(programs.error().kind, ErrorKind::not_found);
  EXPECT_EQ(programs.error().cause,
            "'" + (directory_ / "site") + "' (solver=) has no solver for this version of pinstep");
}

TEST_F(FindSolver, AVenvWithoutItsPythonDoesNotCount) {
  write_file(directory_ / "site/s/pyvenv.cfg", "");
  EXPECT_EQ(find_solver(directory_ / "site", "s"), std::nullopt);
  write_file(directory_ / "site/s/bin/x", "");
  ASSERT_EQ(::symlink("/absent/python3", (directory_ / "site/s/bin/python").c_str()), 0);
  EXPECT_EQ(find_solver(directory_ / "site", "s"), std::nullopt);
}

}  // namespace
}  // namespace pinstep
