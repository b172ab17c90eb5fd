#include "envtools/config/settings.h"

#include <set>

#include "tests/unit/support/random.h"
#include "tests/unit/support/results.h"

namespace pinstep {

inline bool operator==(const Assignment& a, const Assignment& b) {
  return a.key == b.key && a.value == b.value && a.enforced == b.enforced && a.where == b.where;
}

inline void PrintTo(const Assignment& assignment, std::ostream* out) {
  *out << assignment.where << ": " << (assignment.enforced ? "!" : "") << assignment.key << "="
       << assignment.value;
}

namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing_support::FailsWith;
using testing_support::Holds;
using testing_support::Random;
using testing_support::shown;
using testing_support::Succeeds;

Result<Settings> assigned(std::string key, std::string value, SetBy by = SetBy::site, std::string where = "") {
  Settings settings;
  const auto done = assign(settings, {std::move(key), std::move(value), false, std::move(where)}, by);
  if (!done) {
    EXPECT_EQ(settings, Settings{}) << "a refused value changed the settings";
    return tl::unexpected(done.error());
  }
  return settings;
}

// ---- one assignment -----------------------------------------------------------------------------

TEST(ParseAssignment, SplitsAtTheFirstEqualsSignAndTrims) {
  struct Case {
    std::string_view text;
    Assignment assignment;
  };
  for (const Case& c : {Case{"a=b", {"a", "b", false, "w"}}, Case{" a = b c ", {"a", "b c", false, "w"}},
                        Case{"!a=b", {"a", "b", true, "w"}}, Case{"! a=b", {"a", "b", true, "w"}},
                        Case{"a=b=c", {"a", "b=c", false, "w"}}, Case{"a=", {"a", "", false, "w"}},
                        Case{"a=# no comment", {"a", "# no comment", false, "w"}}})
    EXPECT_THAT(parse_assignment(c.text, "w"), Holds(c.assignment)) << shown(c.text);
}

TEST(ParseAssignment, RefusesWhatHasNoKeyOrNoEqualsSign) {
  EXPECT_THAT(parse_assignment("optional", "plugstack.conf"),
              FailsWith(ErrorKind::invalid, "plugstack.conf: 'optional' is not key=value"));
  EXPECT_THAT(parse_assignment("=b", "f:3"), FailsWith(ErrorKind::invalid, "f:3: '=b' is not key=value"));
  EXPECT_THAT(parse_assignment("", ""), FailsWith(ErrorKind::invalid, "'' is not key=value"));
  EXPECT_THAT(parse_assignment("!", ""), FailsWith(ErrorKind::invalid, "'' is not key=value"));
}

struct ValueCase {
  std::string key;
  std::string value;
  Settings settings;
};

template <class Change>
Settings with(Change change) {
  Settings settings;
  change(settings);
  return settings;
}

TEST(Assign, TakesTheValuesOfEachKey) {
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  const ValueCase cases[] = {
      {"address", "%h", {}},
      {"address", "%h-ib", with([](Settings& s) { s.address = "%h-ib"; })},
      {"address", "ib.%h.example.org", with([](Settings& s) { s.address = "ib.%h.example.org"; })},
      {"task_timeout", "1", with([](Settings& s) { s.task_timeout = seconds(1); })},
      {"task_timeout", "600", with([](Settings& s) { s.task_timeout = seconds(600); })},
      {"enoent_wait", "0", with([](Settings& s) { s.enoent_wait = milliseconds(0); })},
      {"enoent_wait", "60000", with([](Settings& s) { s.enoent_wait = milliseconds(60000); })},
      {"trusted_uids", "0", with([](Settings& s) { s.trusted_uids = {0}; })},
      {"trusted_uids", "1000, 1001", with([](Settings& s) {
         s.trusted_uids = {1000, 1001};
       })},
      {"pinstep", "/opt/bin/pinstep", with([](Settings& s) { s.pinstep = "/opt/bin/pinstep"; })},
      {"scancel", "/opt/bin/scancel", with([](Settings& s) { s.scancel = "/opt/bin/scancel"; })},
      {"user_site", "off", {}},
      {"user_site", "keep", with([](Settings& s) { s.policies.user_site = Policies::UserSite::keep; })},
      {"pythonpath", "entry", {}},
      {"pythonpath", "clear", with([](Settings& s) { s.policies.pythonpath = Policies::PythonPath::clear; })},
      {"pythonpath", "keep", with([](Settings& s) { s.policies.pythonpath = Policies::PythonPath::keep; })},
      {"pythonhome", "clear", {}},
      {"pythonhome", "keep", with([](Settings& s) { s.policies.pythonhome = Policies::ClearOrKeep::keep; })},
      {"ld_library_path", "keep", {}},
      {"store", "/s", with([](Settings& s) { s.store = "/s"; })},
      {"store", "$SCRATCH/s:~/s:/s", with([](Settings& s) { s.store = "$SCRATCH/s:~/s:/s"; })},
      {"store", "", {}},
      {"channel.a.b-c_D1", "http://127.0.0.1/c", with([](Settings& s) {
         s.channels = {{"a.b-c_D1", "http://127.0.0.1/c"}};
       })},
      {"channel.local", "$HOME/c", with([](Settings& s) {
         s.channels = {{"local", "$HOME/c"}};
       })},
      {"solver", "/opt/solver", with([](Settings& s) { s.solver = "/opt/solver"; })},
      {"setup", "never", with([](Settings& s) { s.setup = Settings::Setup::never; })},
      {"lock", "frozen", with([](Settings& s) { s.lock = Settings::LockUse::frozen; })},
      {"lock", "update", with([](Settings& s) { s.lock = Settings::LockUse::update; })},
      {"build", "job", with([](Settings& s) { s.build = Settings::Build::job; })},
      {"build", "never", with([](Settings& s) { s.build = Settings::Build::never; })},
      {"profile", "~/gpu.txt", with([](Settings& s) { s.profile = "~/gpu.txt"; })},
      {"lint_ignore", "variant,base-name", with([](Settings& s) { s.lint_ignore = "variant,base-name"; })},
      {"lease_days", "7", with([](Settings& s) { s.lease_days = 7; })},
      {"compile", "no", with([](Settings& s) { s.compile = false; })},
      {"jobs", "1024", with([](Settings& s) { s.jobs = 1024; })},
      {"trusted_uids", "", {}},  // back to what is built in
      {"pinstep", "", {}},
      {"scancel", "", {}},
      {"ld_library_path", "clear",
       with([](Settings& s) { s.policies.ld_library_path = Policies::ClearOrKeep::clear; })},
  };
  std::set<std::string_view> tried;
  for (const ValueCase& c : cases) {
    EXPECT_THAT(assigned(c.key, c.value), Holds(c.settings)) << c.key << "=" << c.value;
    tried.insert(c.key.starts_with("channel.") ? "channel.NAME" : std::string_view(c.key));
  }
  for (const Key& key : settings_keys()) EXPECT_TRUE(tried.contains(key.name)) << "no case for " << key.name;
}

TEST(Assign, RefusesOtherValuesAndSaysWhichThereAre) {
  struct Case {
    const char* key;
    std::vector<const char*> values;
    const char* hint;
  };
  const Case cases[] = {
      {"address", {"", "node", "%", "%H", "%h ib", "%h;x", "%h|x", "%h\t"}, "it takes a pattern with %h"},
      {"task_timeout", {"", "0", "601", "-1", "20s", "1.5", "4294967297"}, "it takes 1 to 600 (seconds)"},
      {"enoent_wait", {"", "60001", "-1", "1s"}, "it takes 0 to 60000 (milliseconds)"},
      {"trusted_uids",
       {",", "1,", "root", "-1", "1 2", "4294967295", "4294967296"},
       "it takes user ids separated by commas"},
      {"pinstep", {"pinstep", "./pinstep"}, "it takes an absolute path"},
      {"scancel", {"scancel"}, "it takes an absolute path"},
      {"user_site", {"", "on", "OFF", "1"}, "it takes off or keep"},
      {"pythonpath", {"", "off", "inside"}, "it takes entry, clear or keep"},
      {"pythonhome", {"", "entry"}, "it takes clear or keep"},
      {"ld_library_path", {"", "warn"}, "it takes clear or keep"},
      {"store",
       {"s", "./s", "/s:", ":/s", "/s:t", "~user/s"},
       "it takes absolute paths separated by ':', which may begin with ~ or a variable"},
      {"channel.c", {"", "c", "./c", "/a b"}, "it takes a URL or an absolute path"},
      {"channel.", {"/c"}, "it takes a URL or an absolute path"},
      {"channel.a/b", {"/c"}, "it takes a URL or an absolute path"},
      {"solver", {"solver"}, "it takes an absolute path, which may begin with ~ or a variable"},
      {"setup", {"", "always"}, "it takes auto or never"},
      {"lock", {"", "locked"}, "it takes auto, frozen or update"},
      {"build", {"", "auto"}, "it takes submit, job or never"},
      {"profile",
       {"./gpu", "a/b"},
       "it takes a name, or an absolute path, which may begin with ~ or a variable"},
      {"lease_days", {"", "0", "3651", "x"}, "it takes 1 to 3650 (days)"},
      {"compile", {"", "1"}, "it takes yes or no"},
      {"jobs", {"", "-1", "1025"}, "it takes 0 to 1024"},
  };
  for (const Case& c : cases)
    for (const char* value : c.values)
      EXPECT_THAT(assigned(c.key, value, SetBy::site, "f:7"),
                  FailsWith(ErrorKind::invalid,
                            "f:7: '" + std::string(value) + "' is not a value of '" + c.key + "'", c.hint));
}

TEST(Assign, NamesTheNearestKeyForASlip) {
  EXPECT_THAT(assigned("adress", "%h", SetBy::site, "f:1"),
              FailsWith(ErrorKind::invalid, "f:1: there is no setting 'adress'", "did you mean 'address'?"));
  EXPECT_THAT(assigned("shape", "rank"),
              FailsWith(ErrorKind::invalid, "there is no setting 'shape'", "pinstep.conf(5) has the list"));
  EXPECT_THAT(assigned("ADDRESS", "%h"),
              FailsWith(ErrorKind::invalid, "there is no setting 'ADDRESS'", "pinstep.conf(5) has the list"));
}

TEST(Assign, LetsNobodyButTheSiteSetTheSitesKeys) {
  for (const char* key : {"address", "task_timeout", "enoent_wait", "trusted_uids", "pinstep", "scancel"})
    EXPECT_THAT(
        assigned(key, "1", SetBy::anyone, "c"),
        FailsWith(ErrorKind::invalid, "c: '" + std::string(key) +
                                          "' can be set in /etc/pinstep/pinstep.conf and plugstack.conf only"));
  for (const char* key : {"pythonhome", "ld_library_path", "pythonpath", "user_site"})
    EXPECT_THAT(assigned(key, "keep", SetBy::anyone), Succeeds()) << key;
}

TEST(SettingsKeys, DescribeTheBuiltInValues) {
  for (const Key& key : settings_keys()) {
    EXPECT_FALSE(key.meaning.empty()) << key.name;
    if (key.fallback.empty()) continue;  // nothing is set, which no value says
    EXPECT_THAT(assigned(std::string(key.name), std::string(key.fallback)), Holds(Settings{})) << key.name;
  }
}

// ---- places -------------------------------------------------------------------------------------

TEST(ParseSettingsFile, TakesAssignmentsAndTellsWhereTheyStand) {
  const ParsedFile file = parse_settings_file(
      "# comment\n\n  address = %h-ib  \r\n!pythonpath=clear\n\t# another = comment\nunknown=1\nuser_site=keep",
      "/f");
  EXPECT_THAT(file.assignments, ElementsAre(Assignment{"address", "%h-ib", false, "/f:3"},
                                            Assignment{"pythonpath", "clear", true, "/f:4"},
                                            Assignment{"unknown", "1", false, "/f:6"},
                                            Assignment{"user_site", "keep", false, "/f:7"}));
  EXPECT_THAT(file.errors, IsEmpty());
}

TEST(ParseSettingsFile, ReportsBrokenLinesAndGoesOn) {
  const ParsedFile file = parse_settings_file("what\nuser_site=keep\n= x\n", "/f");
  EXPECT_THAT(file.assignments, ElementsAre(Assignment{"user_site", "keep", false, "/f:2"}));
  ASSERT_EQ(file.errors.size(), 2u);
  EXPECT_EQ(file.errors[0].cause, "/f:1: 'what' is not key=value");
  EXPECT_EQ(file.errors[1].cause, "/f:3: '= x' is not key=value");
}

TEST(ParseSettingsFile, TakesAnEmptyFile) {
  EXPECT_THAT(parse_settings_file("", "/f").assignments, IsEmpty());
  EXPECT_THAT(parse_settings_file("\n\n", "/f").errors, IsEmpty());
}

TEST(AssignmentsFrom, TakesTheVariablesThatAnyoneMaySet) {
  const Environment environment({{"PINSTEP_USER_SITE", "keep"},
                                 {"PINSTEP_LD_LIBRARY_PATH", ""},
                                 {"PINSTEP_ADDRESS", "%h-evil"},
                                 {"PINSTEP_TRUSTED_UIDS", "1"},
                                 {"PINSTEP_STEP_ENV", "-"},
                                 {"PINSTEP_UNKNOWN", "1"},
                                 {"PINSTEP_CHANNEL.NAME", "/c"},
                                 {"PINSTEP_JOBS", "2"},
                                 {"pinstep_pythonpath", "keep"},
                                 {"PYTHONPATH", "/x"}});
  EXPECT_THAT(assignments_from(environment),
              ElementsAre(Assignment{"user_site", "keep", false, "PINSTEP_USER_SITE"},
                          Assignment{"ld_library_path", "", false, "PINSTEP_LD_LIBRARY_PATH"},
                          Assignment{"jobs", "2", false, "PINSTEP_JOBS"}));
}

TEST(SiteSettings, LetsPlugstackWinOverTheFileAndEnforcedLinesOverBoth) {
  const ParsedFile file = parse_settings_file(
      "address=%h-file\n"
      "!pythonpath=clear\n"
      "enoent_wait=1\n"
      "task_timeout=5\n"
      "task_timeout=6\n",
      "/f");
  const SiteSettings site = site_settings(file, {"address=%h-stack", "pythonpath=keep", "user_site=keep"});
  Settings expected;
  expected.address = "%h-stack";
  expected.policies.pythonpath = Policies::PythonPath::clear;
  expected.policies.user_site = Policies::UserSite::keep;
  expected.enoent_wait = std::chrono::milliseconds(1);
  expected.task_timeout = std::chrono::seconds(6);
  EXPECT_EQ(site.settings, expected);
  EXPECT_THAT(site.enforced, ElementsAre(Assignment{"pythonpath", "clear", true, "/f:2"}));
  EXPECT_THAT(site.errors, IsEmpty());
}

TEST(SiteSettings, LeavesWrongLinesOutAndReportsThem) {
  const ParsedFile file =
      parse_settings_file("nonsense\ntask_timeout=soon\n!user_site=maybe\nuser_site=keep\n", "/f");
  const SiteSettings site = site_settings(file, {"enforced", "adress=%h", "enoent_wait=5"});
  Settings expected;
  expected.policies.user_site = Policies::UserSite::keep;
  expected.enoent_wait = std::chrono::milliseconds(5);
  EXPECT_EQ(site.settings, expected);
  EXPECT_THAT(site.enforced, IsEmpty());
  std::vector<std::string> causes;
  for (const Error& error : site.errors) causes.push_back(error.cause);
  EXPECT_THAT(
      causes,
      ElementsAre("/f:1: 'nonsense' is not key=value", "/f:2: 'soon' is not a value of 'task_timeout'",
                  "plugstack.conf: 'enforced' is not key=value", "plugstack.conf: there is no setting 'adress'",
                  "/f:3: 'maybe' is not a value of 'user_site'"));
}

TEST(SiteSettings, AreTheBuiltInOnesWithoutFileAndArguments) {
  const SiteSettings site = site_settings({}, {});
  EXPECT_EQ(site.settings, Settings{});
  EXPECT_THAT(site.errors, IsEmpty());
}

TEST(ChangedPolicies, NamesOnlyWhatIsNotBuiltIn) {
  EXPECT_THAT(changed_policies({}), IsEmpty());
  Policies policies;
  policies.pythonpath = Policies::PythonPath::keep;
  policies.ld_library_path = Policies::ClearOrKeep::clear;
  EXPECT_THAT(changed_policies(policies), ElementsAre(Assignment{"pythonpath", "keep", false, ""},
                                                      Assignment{"ld_library_path", "clear", false, ""}));
}

TEST(ChangedPolicies, AssignedToTheBuiltInOnesGiveThePolicies) {
  for (const auto user_site : {Policies::UserSite::off, Policies::UserSite::keep})
    for (const auto path :
         {Policies::PythonPath::entry, Policies::PythonPath::clear, Policies::PythonPath::keep})
      for (const auto home : {Policies::ClearOrKeep::clear, Policies::ClearOrKeep::keep})
        for (const auto libraries : {Policies::ClearOrKeep::clear, Policies::ClearOrKeep::keep}) {
          const Policies policies{user_site, path, home, libraries};
          Settings settings;
          for (const Assignment& assignment : changed_policies(policies))
            EXPECT_THAT(assign(settings, assignment, SetBy::anyone), Succeeds());
          EXPECT_EQ(settings.policies, policies);
        }
}

TEST(ParseSettingsFile, NeverMixesUpLinesWhateverTheyHold) {
  Random random;
  for (int i = 0; i < 1000; ++i) {
    std::string text;
    std::size_t lines = 1;
    for (std::size_t n = random.below(40); n > 0; --n) {
      text += random.pick(std::string_view("a=!# \t\n\xff"));
      lines += text.back() == '\n';
    }
    const ParsedFile file = parse_settings_file(text, "/f");
    EXPECT_LE(file.assignments.size() + file.errors.size(), lines) << random << shown(text);
    for (const Assignment& assignment : file.assignments) {
      EXPECT_FALSE(assignment.key.empty()) << random << shown(text);
      EXPECT_EQ(assignment.key.find_first_of("=\n"), std::string::npos) << random << shown(text);
    }
  }
}

}  // namespace
}  // namespace pinstep
