#include "envtools/activation/enter.h"

#include "envtools/base/variables.h"
#include "tests/unit/support/random.h"
#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using namespace std::string_literals;
using testing::Optional;
using testing_support::Random;
using testing_support::shown;
using ClearOrKeep = Policies::ClearOrKeep;
using PythonPath = Policies::PythonPath;
using UserSite = Policies::UserSite;

constexpr std::string_view kPrefix = "/env";
const std::string kId(64, 'b');

// Nothing is done but what the activation says: for tests of that part.
constexpr Policies kHandsOff{UserSite::keep, PythonPath::keep, ClearOrKeep::keep, ClearOrKeep::keep};

Activation activation_of(const std::vector<Edit>& edits, std::string_view id = "-") {
  return Activation::parse(format_activation(id, edits), "/f").value();
}

Activation usual_activation() {
  return activation_of({{EditOp::prepend, "PATH", "/env/bin"},
                        {EditOp::set, "CONDA_PREFIX", "/env"},
                        {EditOp::set, "CONDA_SHLVL", "1"}});
}

Environment entered(const Environment& environment, const Activation& activation, Policies policies = {},
                    Arrival arrival = Arrival::inside, std::string_view prefix = kPrefix) {
  return enter(environment, {activation, prefix, policies, arrival, ""});
}

Environment variables(Environment::Variables variables) { return Environment(std::move(variables)); }

// The environment without what a step tells, to compare the rest.
Environment visible(Environment environment) {
  for (const auto& description : variable::kAll) environment.unset(description.name);
  return environment;
}

// ---- entering -----------------------------------------------------------------------------------

TEST(Enter, AppliesTheActivationAndTellsWhere) {
  const Activation activation = activation_of({{EditOp::prepend, "PATH", "/env/bin"},
                                               {EditOp::set, "CONDA_PREFIX", "/env"},
                                               {EditOp::unset, "GONE", ""},
                                               {EditOp::append, "MANPATH", "/env/man"},
                                               {EditOp::remove, "MODULES", "old"}},
                                              kId);
  const Environment after = entered(
      variables({{"PATH", "/usr/bin"}, {"GONE", "1"}, {"MODULES", "old:new"}, {"USER", "u"}}), activation);
  EXPECT_EQ(visible(after), variables({{"PATH", "/env/bin:/usr/bin"},
                                       {"CONDA_PREFIX", "/env"},
                                       {"MANPATH", "/env/man"},
                                       {"MODULES", "new"},
                                       {"USER", "u"},
                                       {"PYTHONNOUSERSITE", "1"}}));
  EXPECT_EQ(after.get("PINSTEP_STEP_PREFIX"), "/env");
  EXPECT_EQ(after.get("PINSTEP_STEP_ENV"), kId);
}

TEST(Enter, AppliesEditsInOrder) {
  const Activation activation = activation_of({{EditOp::prepend, "L", "/a"},
                                               {EditOp::prepend, "L", "/b"},
                                               {EditOp::set, "X", "1"},
                                               {EditOp::set, "X", "2"},
                                               {EditOp::unset, "Y", ""},
                                               {EditOp::set, "Y", "3"}});
  const Environment after = entered(variables({{"PATH", "/bin"}}), activation, kHandsOff);
  EXPECT_EQ(visible(after), variables({{"PATH", "/bin"}, {"L", "/b:/a"}, {"X", "2"}, {"Y", "3"}}));
}

TEST(Enter, FallsBackToTheUsualDirectoriesWithoutPath) {
  for (const Environment& before : {variables({}), variables({{"PATH", ""}})})
    EXPECT_EQ(entered(before, usual_activation()).get("PATH"), "/env/bin:/usr/local/bin:/usr/bin:/bin");
}

TEST(Enter, AppendsItsOwnProgramsOnceToPath) {
  const Activation activation = usual_activation();
  const Entrance entrance{activation, kPrefix, {}, Arrival::inside, "/opt/pinstep/bin"};
  const Environment once = enter(variables({{"PATH", "/bin"}}), entrance);
  EXPECT_EQ(once.get("PATH"), "/env/bin:/bin:/opt/pinstep/bin");
  EXPECT_EQ(enter(once, entrance).get("PATH"), "/env/bin:/bin:/opt/pinstep/bin");
  EXPECT_EQ(enter(variables({{"PATH", "/opt/pinstep/bin:/bin"}}), entrance).get("PATH"),
            "/env/bin:/opt/pinstep/bin:/bin");
}

TEST(Enter, KeepsEverythingElse) {
  const Environment before = variables({{"PATH", "/bin"},
                                        {"BASH_FUNC_module%%", "() { :; }"},
                                        {"SLURM_JOB_ID", "7"},
                                        {"PINSTEP_USER_SITE", "off"},
                                        {"MASTER_ADDR", "n1"},
                                        {"EMPTY", ""}});
  EXPECT_EQ(visible(entered(before, activation_of({}), kHandsOff)), before);
}

// ---- policies: what is kept and what is cleared ---------------------------------------------------

struct PolicyCase {
  const char* what;
  Policies policies;
  Arrival arrival;
  const char* name;
  const char* after;  // of a variable that was "/mine"; nullptr: unset
};

TEST(Enter, ClearsVariablesAsThePoliciesSay) {
  constexpr auto entry = Arrival::entry;
  constexpr auto inside = Arrival::inside;
  const auto python_path = [](PythonPath policy) {
    Policies policies = kHandsOff;
    policies.pythonpath = policy;
    return policies;
  };
  Policies home_cleared = kHandsOff;
  home_cleared.pythonhome = ClearOrKeep::clear;
  Policies libraries_cleared = kHandsOff;
  libraries_cleared.ld_library_path = ClearOrKeep::clear;
  Policies user_site_off = kHandsOff;
  user_site_off.user_site = UserSite::off;
  const PolicyCase cases[] = {
      {"PYTHONPATH is cleared at entry by default", {}, entry, "PYTHONPATH", nullptr},
      {"PYTHONPATH is kept inside by default", {}, inside, "PYTHONPATH", "/mine"},
      {"pythonpath=entry at entry", python_path(PythonPath::entry), entry, "PYTHONPATH", nullptr},
      {"pythonpath=entry inside", python_path(PythonPath::entry), inside, "PYTHONPATH", "/mine"},
      {"pythonpath=clear at entry", python_path(PythonPath::clear), entry, "PYTHONPATH", nullptr},
      {"pythonpath=clear inside", python_path(PythonPath::clear), inside, "PYTHONPATH", nullptr},
      {"pythonpath=keep at entry", python_path(PythonPath::keep), entry, "PYTHONPATH", "/mine"},
      {"pythonpath=keep inside", python_path(PythonPath::keep), inside, "PYTHONPATH", "/mine"},
      {"PYTHONHOME is cleared by default", {}, entry, "PYTHONHOME", nullptr},
      {"PYTHONHOME is cleared inside as well", {}, inside, "PYTHONHOME", nullptr},
      {"pythonhome=clear", home_cleared, inside, "PYTHONHOME", nullptr},
      {"pythonhome=keep", kHandsOff, entry, "PYTHONHOME", "/mine"},
      {"LD_LIBRARY_PATH is kept by default", {}, entry, "LD_LIBRARY_PATH", "/mine"},
      {"ld_library_path=clear", libraries_cleared, inside, "LD_LIBRARY_PATH", nullptr},
      {"ld_library_path=keep", kHandsOff, entry, "LD_LIBRARY_PATH", "/mine"},
      {"user site is off by default", {}, inside, "PYTHONNOUSERSITE", "1"},
      {"user_site=off", user_site_off, entry, "PYTHONNOUSERSITE", "1"},
      {"user_site=keep", kHandsOff, inside, "PYTHONNOUSERSITE", "/mine"},
  };
  for (const PolicyCase& c : cases) {
    const Environment after = entered(variables({{c.name, "/mine"}}), activation_of({}), c.policies, c.arrival);
    EXPECT_EQ(after.get(c.name), c.after ? std::optional<std::string_view>(c.after) : std::nullopt) << c.what;
  }
}

TEST(Enter, LetsTheActivationSetWhatAPolicyCleared) {
  Policies policies;
  policies.ld_library_path = ClearOrKeep::clear;
  const Environment after = entered(variables({{"LD_LIBRARY_PATH", "/mine"}, {"PYTHONHOME", "/mine"}}),
                                    activation_of({{EditOp::prepend, "LD_LIBRARY_PATH", "/env/lib"},
                                                   {EditOp::set, "PYTHONHOME", "/env"},
                                                   {EditOp::set, "PYTHONNOUSERSITE", "x"}}),
                                    policies);
  EXPECT_EQ(after.get("LD_LIBRARY_PATH"), "/env/lib");
  EXPECT_EQ(after.get("PYTHONHOME"), "/env");
  EXPECT_EQ(after.get("PYTHONNOUSERSITE"), "x");
}

// ---- entering where we are already ------------------------------------------------------------------

TEST(Enter, LeavesWhatTheScriptChangedSinceAlone) {
  const Activation activation = usual_activation();
  Environment inside = entered(variables({{"PATH", "/bin"}}), activation);
  inside.set("CONDA_SHLVL", "2");
  inside.unset("CONDA_PREFIX");
  inside.unset("PYTHONNOUSERSITE");
  inside.set("PYTHONPATH", "/script");
  inside.set("PYTHONHOME", "/script");
  inside.set("PATH", "/script/bin:/env/bin:/bin");
  EXPECT_EQ(entered(inside, activation), inside);
}

TEST(Enter, PutsListElementsBackThatALoginShellLost) {
  const Activation activation = usual_activation();
  Environment inside = entered(variables({{"PATH", "/bin"}}), activation);
  inside.set("PATH", "/usr/local/bin:/usr/bin");
  EXPECT_EQ(entered(inside, activation).get("PATH"), "/env/bin:/usr/local/bin:/usr/bin");
}

TEST(Enter, PutsNothingBackOfAVariableThatWasSetAsAWhole) {
  const Activation activation =
      activation_of({{EditOp::prepend, "X", "a"}, {EditOp::set, "X", "b"}, {EditOp::remove, "L", "script's"}});
  Environment inside = entered(variables({{"PATH", "/bin"}, {"L", "mine"}}), activation);
  EXPECT_EQ(entered(inside, activation), inside);
  inside.set("L", "script's");
  inside.unset("X");
  EXPECT_EQ(entered(inside, activation), inside);
}

TEST(Enter, ChangesNothingWhenDoneTwice) {
  const Activation activation = usual_activation();
  const Environment once = entered(variables({{"PATH", "/env/bin:/bin"}}), activation);
  EXPECT_EQ(entered(once, activation), once);
}

TEST(Enter, EntersAnewWhereThePrefixHasAnotherId) {
  const Environment first = entered(variables({}), activation_of({{EditOp::set, "OLD", "1"}}, kId));
  const Environment second = entered(first, activation_of({{EditOp::set, "NEW", "1"}}));
  EXPECT_FALSE(second.has("OLD"));
  EXPECT_EQ(second.get("NEW"), "1");
}

TEST(Enter, LeavesAnotherPrefixFirst) {
  const Environment before = variables({{"PATH", "/bin"}, {"X", "mine"}});
  const Activation other =
      activation_of({{EditOp::prepend, "PATH", "/other/bin"}, {EditOp::set, "X", "other"}});
  const Environment in_other = entered(before, other, {}, Arrival::inside, "/other");
  const Environment after = entered(in_other, usual_activation());
  EXPECT_EQ(after, entered(before, usual_activation()));
  EXPECT_EQ(after.get("X"), "mine");
  EXPECT_EQ(after.get("PATH"), "/env/bin:/bin");
}

TEST(Enter, AnewAtEntryEvenIfTheLoginShellWasInside) {
  const Activation activation = usual_activation();
  const Environment before = variables({{"PATH", "/bin"}});
  Environment inside = entered(before, activation);
  inside.set("CONDA_SHLVL", "9");
  EXPECT_EQ(entered(inside, activation, {}, Arrival::entry).get("CONDA_SHLVL"), "1");
}

// ---- leaving ------------------------------------------------------------------------------------

TEST(Leave, TakesBackWhatEnterDid) {
  const Environment before =
      variables({{"PATH", "/bin"}, {"REPLACED", "a,b;c%\n\xff"}, {"GONE", ""}, {"SAME", "1"}, {"L", "/x"}});
  const Activation activation = activation_of({{EditOp::set, "REPLACED", "new"},
                                               {EditOp::set, "ADDED", "x"},
                                               {EditOp::unset, "GONE", ""},
                                               {EditOp::unset, "NEVER_THERE", ""},
                                               {EditOp::set, "SAME", "1"},
                                               {EditOp::prepend, "PATH", "/env,;%/bin"},
                                               {EditOp::append, "L", "/y"},
                                               {EditOp::prepend, "NEW_LIST", "/z"}});
  EXPECT_EQ(leave(entered(before, activation)), before);
}

TEST(Leave, KeepsWhatTheScriptChangedSince) {
  Environment inside = entered(variables({{"PATH", "/bin"}, {"B", "old"}, {"C", "old"}, {"D", "old"}}),
                               activation_of({{EditOp::set, "A", "ours"},
                                              {EditOp::set, "B", "ours"},
                                              {EditOp::unset, "C", ""},
                                              {EditOp::set, "D", "ours"},
                                              {EditOp::prepend, "PATH", "/env/bin"}}));
  inside.set("A", "script's");
  inside.set("B", "script's");
  inside.set("C", "script's");
  inside.unset("D");
  inside.set("PATH", "/script/bin:/env/bin:/bin");
  EXPECT_EQ(leave(inside),
            variables({{"PATH", "/script/bin:/bin"}, {"A", "script's"}, {"B", "script's"}, {"C", "script's"}}));
}

TEST(Leave, KeepsAListElementThatWasThereBefore) {
  const Activation activation =
      activation_of({{EditOp::prepend, "PATH", "/usr/bin"}, {EditOp::append, "L", "/y"}});
  const Environment inside =
      entered(variables({{"PATH", "/bin:/usr/bin"}, {"L", "/y:/x"}}), activation, kHandsOff);
  EXPECT_EQ(leave(inside), variables({{"PATH", "/usr/bin:/bin"}, {"L", "/y:/x"}}));
}

TEST(Leave, TakesAVariableBackAsAWholeThatWasSetAndThenEditedAsAList) {
  const Activation activation = activation_of({{EditOp::prepend, "X", "early"},
                                               {EditOp::set, "X", "a:b"},
                                               {EditOp::prepend, "X", "b"},
                                               {EditOp::append, "X", "c"},
                                               {EditOp::set, "Y", "a"},
                                               {EditOp::remove, "Y", "a"}});
  for (const Environment& before : {variables({{"PATH", "/bin"}, {"X", "b:mine"}, {"Y", "1"}}),
                                    variables({{"PATH", "/bin"}}), variables({{"PATH", "/bin"}, {"X", "a:b"}})})
    EXPECT_EQ(leave(entered(before, activation)), before);
}

TEST(Leave, RemovesWhatAStepTellsAndNoConfiguration) {
  EXPECT_EQ(leave(variables({{"PINSTEP_STEP_ID", "1.0"},
                             {"PINSTEP_STEP_SET", "1.0;RANK=0"},
                             {"PINSTEP_STEP_FUTURE", "x"},
                             {"PINSTEP_USER_SITE", "keep"},
                             {"PINSTEP_STORE", "/s"},
                             {"PINSTEP_STEP", "x"},
                             {"RANK", "0"},
                             {"SLURM_SPANK_PINSTEP_ENV", "1;"}})),
            variables({{"PINSTEP_USER_SITE", "keep"},
                       {"PINSTEP_STORE", "/s"},
                       {"PINSTEP_STEP", "x"},
                       {"RANK", "0"},
                       {"SLURM_SPANK_PINSTEP_ENV", "1;"}}));
}

TEST(Leave, ChangesNothingOutside) {
  const Environment outside = variables({{"PATH", "/env/bin:/bin"}, {"CONDA_PREFIX", "/env"}});
  EXPECT_EQ(leave(outside), outside);
}

TEST(Leave, DoesNotBringBackWhatItsContractExcepts) {
  struct Case {
    const char* what;
    Environment before;
    std::vector<Edit> edits;
    Environment after;
  };
  const Case cases[] = {
      {"cleared by a policy",
       variables({{"PATH", "/bin"}, {"PYTHONHOME", "/mine"}}),
       {},
       variables({{"PATH", "/bin"}})},
      {"taken out by remove",
       variables({{"PATH", "/bin:/old"}}),
       {{EditOp::remove, "PATH", "/old"}},
       variables({{"PATH", "/bin"}})},
      {"set and empty",
       variables({{"PATH", "/bin"}, {"L", ""}}),
       {{EditOp::prepend, "L", "/x"}},
       variables({{"PATH", "/bin"}})},
      {"no PATH",
       variables({}),
       {{EditOp::prepend, "PATH", "/env/bin"}},
       variables({{"PATH", "/usr/local/bin:/usr/bin:/bin"}})},
  };
  for (const Case& c : cases) EXPECT_EQ(leave(entered(c.before, activation_of(c.edits))), c.after) << c.what;

  const Activation none = activation_of({});
  EXPECT_EQ(leave(enter(variables({{"PATH", "/bin"}}), {none, kPrefix, {}, Arrival::inside, "/opt/bin"})),
            variables({{"PATH", "/bin"}}));
}

// The kernel starts no program with a variable of 128 KiB; what finds no room is not taken back.
TEST(Leave, TakesBackWhatFitsIntoTheRecord) {
  const std::string large(100'000, 'x');
  const Activation activation = activation_of({{EditOp::set, "A", "new"}, {EditOp::set, "L", "new"}});
  const Environment entered =
      enter(variables({{"PATH", "/bin"}, {"L", large}}), {activation, kPrefix, {}, Arrival::inside, ""});
  EXPECT_LE(entered.get("PINSTEP_STEP_UNDO").value().size(), 64u * 1024);
  EXPECT_EQ(leave(entered), variables({{"PATH", "/bin"}, {"L", "new"}}));
}

TEST(Leave, UndoesEnterForAnyActivation) {
  Random random;
  for (int i = 0; i < 2000; ++i) {
    // Names W* are edited as wholes and perhaps as lists too; names L* are lists with elements of their own.
    Environment before = variables({{"PATH", "/bin"}});
    for (std::size_t n = random.below(6); n > 0; --n)
      before.set(random.text("W", 1, 3), random.text("ab:;,% \n\xff", 0, 6));
    for (std::size_t n = random.below(4); n > 0; --n)
      before.set("L" + random.text("xy", 1, 1), random.text("cd", 1, 2) + ":" + random.text("cd", 1, 2));

    std::vector<std::string> texts(2 * random.below(10));
    std::vector<Edit> edits{{EditOp::set, "W", "1"}, {EditOp::unset, "WW", ""}, {EditOp::set, "WWW", "a"}};
    for (std::size_t n = 0; n < texts.size(); n += 2) {
      const bool whole = random.one_in(2);
      constexpr EditOp kAnyOp[] = {EditOp::set, EditOp::unset, EditOp::prepend, EditOp::append, EditOp::remove};
      constexpr EditOp kListOp[] = {EditOp::prepend, EditOp::append};
      const EditOp op = whole ? random.pick(kAnyOp) : random.pick(kListOp);
      texts[n] = whole ? random.text("W", 1, 3) : "L" + random.text("xy", 1, 1);
      texts[n + 1] = op == EditOp::unset ? "" : random.text("ab;,%\xff", 1, 3);
      edits.push_back({op, texts[n], texts[n + 1]});
    }
    const Activation activation = activation_of(edits);
    const Policies policies = random.one_in(2) ? Policies{} : kHandsOff;
    const Environment inside = entered(before, activation, policies);
    ASSERT_EQ(leave(inside), before) << random << testing::PrintToString(edits);
    ASSERT_EQ(entered(inside, activation, policies), inside) << random << testing::PrintToString(edits);
  }
}

// ---- what a hostile or damaged record does ----------------------------------------------------------

TEST(Leave, SkipsRecordsThatPinstepCannotHaveWritten) {
  const std::string_view records[] = {
      "",
      ";",
      ";;;",
      ",",
      ",,,",
      "x,A,1",
      "l",
      "l,A",
      "l,A,",
      "l,A,%",
      "l,A,%zz",
      "l,A,a,a",
      "l,,a",
      "u",
      "u,A",
      "u,A,",
      "u,A,0,0",
      "r",
      "r,A,-",
      "r,B",
      "r,B,-,x,y",
      "r,,-,x",
      "r,B%3DC,-,x",
      "r,B%00C,-,x",
      "r,B,-,%00",
      "r,B,-,%zz",
      "r,B,-,%",
      "r,A,-,x",
      "u,A,-",
      "u,A,00000000",
      "R,B,-,x",
      "u,A,7E40C292C",
  };
  const Environment outside = variables({{"A", "a:b"}, {"PATH", "/bin"}});
  for (const std::string_view record : records) {
    Environment hostile = outside;
    hostile.set(variable::kStepUndo, record);
    EXPECT_EQ(leave(hostile), outside) << shown(record);
  }
}

TEST(Leave, GoesOnAfterABrokenRecord) {
  const Environment hostile =
      variables({{"A", "a:b"}, {"PINSTEP_STEP_UNDO", "l,A,%zz;nonsense;l,A,a;r,C,-,x%3B"}});
  EXPECT_EQ(leave(hostile), variables({{"A", "b"}, {"C", "x;"}}));
}

// ---- leftovers --------------------------------------------------------------------------------------

TEST(WithoutLeftovers, TakesOutWhatCondaVenvAndPixiLeave) {
  const Environment conda =
      variables({{"PATH", "/opt/conda/envs/e/bin:/opt/conda/condabin:/opt/conda/bin:/usr/bin"},
                 {"CONDA_PREFIX", "/opt/conda/envs/e"},
                 {"CONDA_PREFIX_1", "/opt/conda"},
                 {"CONDA_DEFAULT_ENV", "e"},
                 {"CONDA_PROMPT_MODIFIER", "(e) "},
                 {"CONDA_SHLVL", "2"},
                 {"CONDA_STACKED_2", "true"},
                 {"CONDA_EXE", "/opt/conda/bin/conda"},
                 {"CONDA_PYTHON_EXE", "/opt/conda/bin/python"},
                 {"_CE_CONDA", ""}});
  EXPECT_EQ(without_leftovers(conda), variables({{"PATH", "/opt/conda/condabin:/usr/bin"},
                                                 {"CONDA_EXE", "/opt/conda/bin/conda"},
                                                 {"CONDA_PYTHON_EXE", "/opt/conda/bin/python"},
                                                 {"_CE_CONDA", ""}}));
  EXPECT_EQ(without_leftovers(variables({{"PATH", "/home/u/venv/bin:/bin"},
                                         {"VIRTUAL_ENV", "/home/u/venv"},
                                         {"VIRTUAL_ENV_PROMPT", "venv"}})),
            variables({{"PATH", "/bin"}}));
  EXPECT_EQ(without_leftovers(variables({{"PATH", "/p/.pixi/envs/default/bin:/bin"},
                                         {"CONDA_PREFIX", "/p/.pixi/envs/default"},
                                         {"PIXI_PROJECT_ROOT", "/p"},
                                         {"PIXI_PROJECT_NAME", "p"},
                                         {"PIXI_ENVIRONMENT_NAME", "default"},
                                         {"PIXI_IN_SHELL", "1"},
                                         {"PIXI_HOME", "/home/u/.pixi"}})),
            variables({{"PATH", "/bin"}, {"PIXI_HOME", "/home/u/.pixi"}}));
}

TEST(WithoutLeftovers, TakesOutAnInheritedPinstepEnvironment) {
  const Environment before = variables({{"PATH", "/bin"}, {"X", "mine"}});
  const Environment inside =
      entered(before, activation_of({{EditOp::prepend, "PATH", "/env/bin"}, {EditOp::set, "X", "1"}}));
  EXPECT_EQ(without_leftovers(inside), before);
}

TEST(WithoutLeftovers, KeepsAnEmptyPrefixFromEmptyingPath) {
  EXPECT_EQ(without_leftovers(variables({{"PATH", "/bin:/usr/bin"}, {"CONDA_PREFIX", ""}})),
            variables({{"PATH", "/bin:/usr/bin"}}));
}

TEST(WithoutLeftovers, ChangesNothingOfACleanShell) {
  const Environment clean =
      variables({{"PATH", "/bin"}, {"CONDA_EXE", "/c"}, {"CONDARC", "/rc"}, {"PS1", "$ "}});
  EXPECT_EQ(without_leftovers(clean), clean);
}

TEST(Enter, TakesLeftoversOutAtEntryOnly) {
  const Environment shell = variables({{"PATH", "/v/bin:/bin"}, {"VIRTUAL_ENV", "/v"}});
  const Environment at_entry = entered(shell, usual_activation(), {}, Arrival::entry);
  EXPECT_FALSE(at_entry.has("VIRTUAL_ENV"));
  EXPECT_EQ(at_entry.get("PATH"), "/env/bin:/bin");
  const Environment inside = entered(shell, usual_activation(), {}, Arrival::inside);
  EXPECT_EQ(inside.get("VIRTUAL_ENV"), "/v");
  EXPECT_EQ(inside.get("PATH"), "/env/bin:/v/bin:/bin");
}

}  // namespace
}  // namespace pinstep
