#include "envtools/config/files.h"

#include <unistd.h>

#include <filesystem>

#include "tests/unit/support/files.h"
#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing_support::FailsWith;
using testing_support::Succeeds;
using testing_support::TemporaryDirectory;
using testing_support::write_file;
using PythonPath = Policies::PythonPath;

class UserSettings : public testing::Test {
 protected:
  Result<SiteSettings> load(Environment::Variables variables = {}, std::vector<std::string> plugstack = {}) {
    variables.emplace("HOME", directory_.path());
    return load_user_settings(Environment(std::move(variables)), plugstack);
  }
  PythonPath python_path(Environment::Variables variables = {}, std::vector<std::string> plugstack = {}) {
    return load(std::move(variables), std::move(plugstack)).value().settings.policies.pythonpath;
  }

  TemporaryDirectory directory_;
  const std::string path_ = directory_ / ".config/pinstep/config";
};

TEST_F(UserSettings, AreTheSitesWhereTheUserHasNone) {
  EXPECT_EQ(python_path(), PythonPath::entry);
  EXPECT_EQ(python_path({}, {"pythonpath=keep"}), PythonPath::keep);
}

TEST_F(UserSettings, LetTheUsersFileWinOverPlugstackAndVariablesOverBoth) {
  write_file(path_, "pythonpath=clear\n");
  EXPECT_EQ(python_path({}, {"pythonpath=keep"}), PythonPath::clear);
  EXPECT_EQ(python_path({{"PINSTEP_PYTHONPATH", "entry"}}, {"pythonpath=keep"}), PythonPath::entry);
}

TEST_F(UserSettings, AreReadBelowXdgConfigHomeWhereThatIsSet) {
  write_file(path_, "pythonpath=clear\n");
  write_file(directory_ / "xdg/pinstep/config", "pythonpath=keep\n");
  EXPECT_EQ(python_path({{"XDG_CONFIG_HOME", directory_ / "xdg"}}), PythonPath::keep);
  EXPECT_EQ(python_path({{"XDG_CONFIG_HOME", ""}}), PythonPath::clear);
}

TEST_F(UserSettings, MayBeALink) {
  write_file(directory_ / "dotfiles/pinstep", "pythonpath=clear\n");
  std::filesystem::create_directories(directory_ / ".config/pinstep");
  std::filesystem::create_symlink(directory_ / "dotfiles/pinstep", path_);
  EXPECT_EQ(python_path(), PythonPath::clear);
}

TEST_F(UserSettings, StopAtTheFirstThingThatIsWrong) {
  struct Case {
    const char* file;
    const char* cause;
    const char* hint;
  };
  for (const Case& c :
       {Case{"pythonpath=clear\nnonsense\n", ":2: 'nonsense' is not key=value", ""},
        Case{"pythonpath=maybe\n", ":1: 'maybe' is not a value of 'pythonpath'",
             "it takes entry, clear or keep"},
        Case{"trusted_uids=1\n",
             ":1: 'trusted_uids' can be set in /etc/pinstep/pinstep.conf and plugstack.conf only", ""}}) {
    write_file(path_, c.file);
    EXPECT_THAT(load(), FailsWith(ErrorKind::invalid, path_ + c.cause, c.hint)) << c.file;
  }
  std::filesystem::remove(path_);
  EXPECT_THAT(load({{"PINSTEP_PYTHONPATH", "x"}}),
              FailsWith(ErrorKind::invalid, "PINSTEP_PYTHONPATH: 'x' is not a value of 'pythonpath'",
                        "it takes entry, clear or keep"));
}

TEST_F(UserSettings, RefuseAFileThatIsNone) {
  std::filesystem::create_directories(path_);
  EXPECT_THAT(load(), FailsWith(ErrorKind::corrupt, "'" + path_ + "' is not a regular file"));
}

TEST_F(UserSettings, GoOnWhereTheSitesArgumentsAreWrong) {
  write_file(path_, "pythonpath=clear\n");
  const auto settings = load({}, {"pythonpath=maybe"});
  ASSERT_THAT(settings, Succeeds());
  EXPECT_EQ(settings->settings.policies.pythonpath, PythonPath::clear);
  EXPECT_EQ(settings->errors.size(), 1u);
}

}  // namespace
}  // namespace pinstep
