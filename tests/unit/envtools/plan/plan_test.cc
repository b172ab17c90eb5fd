#include "envtools/plan/plan.h"

#include <algorithm>

#include "tests/unit/support/random.h"
#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace testing_support;
using Kind = PlannedFile::Kind;

// A package made up for a test: paths, each of which is a file whose content is named after the package.
CondaSource package(const std::string& name, std::vector<std::string> paths,
                    std::vector<std::string> depends = {}) {
  CondaSource source;
  source.info.name = source.locked.name = name;
  source.info.version = "1.0";
  source.info.build = "0";
  source.info.depends = std::move(depends);
  source.info.index_json = "{}";
  source.info.timestamp = 1000;
  source.locked.url = "https://example.org/c/linux-64/" + name + "-1.0-0.conda";
  source.directory = "/cache/" + name;
  std::sort(paths.begin(), paths.end());
  for (std::string& path : paths) {
    PackagePath entry;
    entry.path = path;
    entry.sha256 = name + ":" + path;
    source.info.paths.push_back(entry);
    source.facts.push_back({"", path.starts_with("bin/"), 500});
  }
  return source;
}

CondaSource with_link(CondaSource source, const std::string& path, const std::string& text) {
  PackagePath entry;
  entry.path = path;
  entry.type = PackagePath::Type::symlink;
  source.info.paths.push_back(entry);
  source.facts.push_back({text, false, 0});
  return source;
}

CondaSource with_placeholder(CondaSource source, const std::string& path, PackagePath::Mode mode,
                             std::size_t size) {
  PackagePath entry;
  entry.path = path;
  entry.mode = mode;
  entry.placeholder = std::string(size, '_');
  source.info.paths.push_back(entry);
  source.facts.push_back({"", false, 500});
  return source;
}

CondaSource noarch(CondaSource source) {
  source.info.noarch = Noarch::python;
  return source;
}

CondaSource python(std::vector<std::string> more = {}) {
  more.push_back("bin/python3.11");
  CondaSource source = package("python", std::move(more));
  source.info.version = "3.11.2";
  return source;
}

Result<Plan> plan_of(std::vector<CondaSource> packages, std::vector<WheelSource> wheels = {}) {
  PlanInput input;
  input.prefix = "/store/e/0123456789abcdef";
  input.conda = std::move(packages);
  input.wheels = std::move(wheels);
  return make_plan(std::move(input));
}

const PlannedFile* file_at(const Plan& plan, const std::string& path) {
  for (const PlannedFile& file : plan.files)
    if (file.path == path) return &file;
  return nullptr;
}

std::string owner_of(const Plan& plan, const std::string& path) {
  const PlannedFile* file = file_at(plan, path);
  return file == nullptr ? "nobody" : file->owner == kNoOwner ? "pinstep" : plan.packages[file->owner].name;
}

std::vector<std::string> order_of(const std::vector<CondaSource>& packages) {
  std::vector<std::string> names;
  for (const std::size_t i : link_order(packages)) names.push_back(packages[i].info.name);
  return names;
}

// ---- order

TEST(LinkOrder, PutsDependenciesFirstAndTheFirstNameLast) {
  EXPECT_THAT(order_of({package("a", {}), package("b", {}), package("c", {})}), ElementsAre("c", "b", "a"));
  EXPECT_THAT(order_of({package("a", {}, {"z >=1"}), package("z", {}), package("m", {})}),
              ElementsAre("m", "z", "a"));
  EXPECT_THAT(order_of({package("a", {}, {"b", "c=1.0"}), package("b", {}, {"c"}), package("c", {})}),
              ElementsAre("c", "b", "a"));
}

TEST(LinkOrder, CopesWithCyclesAndWhatIsNotThere) {
  EXPECT_THAT(order_of({package("a", {}, {"b", "__glibc >=2.17"}), package("b", {}, {"a"})}),
              ElementsAre("a", "b"));
  EXPECT_THAT(order_of({package("a", {}, {"a", "nothing"})}), ElementsAre("a"));
  EXPECT_THAT(order_of({}), IsEmpty());
}

TEST(LinkOrder, PutsPythonBeforeThePipItDependsOn) {
  CondaSource interpreter = python();
  interpreter.info.depends = {"pip"};
  EXPECT_THAT(order_of({interpreter, noarch(package("pip", {}, {"python"}))}), ElementsAre("python", "pip"));
}

TEST(LinkOrder, IsOneForEveryOrderOfInput) {
  Random random;
  for (int i = 0; i < 200; ++i) {
    std::vector<CondaSource> packages;
    const std::size_t count = random.between(1, 12);
    for (std::size_t n = 0; n < count; ++n) {
      std::vector<std::string> depends;
      for (std::size_t edges = random.below(4); edges-- > 0;)
        depends.push_back("p" + std::to_string(random.below(count)));
      packages.push_back(package("p" + std::to_string(n), {}, depends));
    }
    const auto order = order_of(packages);
    ASSERT_EQ(order.size(), count);
    for (std::size_t n = count; n > 1; --n) std::swap(packages[n - 1], packages[random.below(n)]);
    ASSERT_EQ(order_of(packages), order) << random;
  }
}

// ---- who has a path

TEST(MakePlan, GivesASharedPathToTheDependentElseToTheFirstName) {
  const CondaSource a = package("a", {"x"}), b = package("b", {"x"});
  const CondaSource needs_a = package("b", {"x"}, {"a"});
  for (const auto& packages : {std::vector{a, b}, std::vector{b, a}}) {
    const auto plan = plan_of(packages).value();
    EXPECT_EQ(owner_of(plan, "x"), "a");
    EXPECT_THAT(plan.notes, ElementsAre("'x' of 'b' left out: 'a' is in the way"));
    EXPECT_TRUE(plan.packages[0].paths.empty());  // the record does not speak of what is not there
  }
  for (const auto& packages : {std::vector{a, needs_a}, std::vector{needs_a, a}})
    EXPECT_EQ(owner_of(plan_of(packages).value(), "x"), "b");
}

TEST(MakePlan, LetsAFileExcludeADirectoryAndTheOtherWayRound) {
  const auto file_wins = plan_of({package("a", {"x"}), package("b", {"x/y", "x/z", "w"})}).value();
  EXPECT_EQ(owner_of(file_wins, "x"), "a");
  EXPECT_EQ(file_at(file_wins, "x/y"), nullptr);
  EXPECT_EQ(owner_of(file_wins, "w"), "b");
  EXPECT_THAT(file_wins.notes, ElementsAre("'x/y' and 1 more of 'b' left out: 'a' is in the way"));
  const auto directory_wins = plan_of({package("a", {"x/y"}), package("b", {"x"})}).value();
  EXPECT_EQ(owner_of(directory_wins, "x/y"), "a");
  EXPECT_EQ(file_at(directory_wins, "x"), nullptr);
}

TEST(MakePlan, SaysNothingWhereTwoPackagesHaveTheSameContent) {
  CondaSource a = package("a", {"x"}), b = package("b", {"x"});
  b.info.paths[0].sha256 = a.info.paths[0].sha256;
  EXPECT_THAT(plan_of({a, b}).value().notes, IsEmpty());
}

TEST(MakePlan, KeepsPathsThatDifferInCaseApart) {
  const auto plan = plan_of({package("a", {"t/E"}), package("b", {"t/e"})}).value();
  EXPECT_EQ(owner_of(plan, "t/E"), "a");
  EXPECT_EQ(owner_of(plan, "t/e"), "b");
}

TEST(MakePlan, ListsEveryDirectoryOnceBeforeWhatIsInIt) {
  CondaSource source = package("a", {"x/y/z", "x/b"});
  PackagePath empty;
  empty.path = "x/empty";
  empty.type = PackagePath::Type::directory;
  source.info.paths.push_back(empty);
  source.facts.emplace_back();
  EXPECT_THAT(plan_of({source}).value().directories, ElementsAre("conda-meta", "x", "x/empty", "x/y"));
}

TEST(MakePlan, KeepsPackagesOutOfCondaMeta) {
  const auto plan = plan_of({package("a", {"conda-meta/pinstep/activation", "x"})}).value();
  EXPECT_EQ(file_at(plan, "conda-meta/pinstep/activation"), nullptr);
  EXPECT_THAT(plan.notes, ElementsAre(HasSubstr("conda-meta is not a package's")));
}

// ---- how files are made

TEST(MakePlan, PatchesWhatHoldsAPlaceholderAndLinksTheRest) {
  CondaSource source = package("a", {"bin/tool"});
  source = with_placeholder(source, "etc/text", PackagePath::Mode::text, 10);
  source = with_placeholder(source, "lib/binary", PackagePath::Mode::binary, 255);
  source.info.paths.push_back(
      PackagePath{"no_link", PackagePath::Type::file, "s", 1, "", PackagePath::Mode::none, true});
  source.facts.push_back({"", false, 500});
  const auto plan = plan_of({source}).value();
  const PlannedFile tool = *file_at(plan, "bin/tool");
  EXPECT_EQ(tool.kind, Kind::link);
  EXPECT_EQ(tool.source, "/cache/a/bin/tool");
  EXPECT_TRUE(tool.executable);
  EXPECT_EQ(tool.time, 500);
  EXPECT_EQ(file_at(plan, "etc/text")->kind, Kind::text);
  EXPECT_EQ(file_at(plan, "etc/text")->time, 1001)
      << "later than the package, so that no .pyc passes for current";
  EXPECT_EQ(file_at(plan, "lib/binary")->kind, Kind::binary);
  EXPECT_EQ(file_at(plan, "no_link")->kind, Kind::copy);
}

TEST(MakePlan, LaysOutPythonPackagesForThePythonThatIsThere) {
  CondaSource greet =
      noarch(package("greet", {"site-packages/greet/__init__.py", "python-scripts/tool", "share/x"}));
  greet.info.entry_points = {{"greet", "greet.cli", "main"}};
  const auto plan = plan_of({python(), greet}).value();
  EXPECT_EQ(owner_of(plan, "lib/python3.11/site-packages/greet/__init__.py"), "greet");
  EXPECT_EQ(owner_of(plan, "bin/tool"), "greet");
  EXPECT_EQ(owner_of(plan, "share/x"), "greet");
  const PlannedFile script = *file_at(plan, "bin/greet");
  EXPECT_EQ(script.kind, Kind::generated);
  EXPECT_TRUE(script.executable);
  EXPECT_THAT(script.content, HasSubstr("#!/store/e/0123456789abcdef/bin/python3.11\n"));
  EXPECT_EQ(owner_of(plan, "lib/python3.11/EXTERNALLY-MANAGED"), "pinstep");

  CondaSource free_threaded = python();
  free_threaded.info.python_site_packages_path = "lib/python3.11t/site-packages";
  EXPECT_EQ(
      owner_of(plan_of({free_threaded, greet}).value(), "lib/python3.11t/site-packages/greet/__init__.py"),
      "greet");
}

TEST(MakePlan, CompilesPythonSourcesThatNobodyCompiled) {
  CondaSource interpreter = python({"lib/python3.11/os.py", "lib/python3.11/re.py",
                                    "lib/python3.11/__pycache__/re.cpython-311.pyc", "share/x.py"});
  interpreter = with_placeholder(interpreter, "lib/python3.11/_sysconfigdata.py", PackagePath::Mode::text, 255);
  const CondaSource greet = noarch(package("greet", {"site-packages/greet.py"}));
  const auto compiled = [&](bool wanted) {
    PlanInput input;
    input.prefix = "/p";
    input.conda = {interpreter, greet};
    input.options.compile = wanted;
    const Plan plan = make_plan(input).value();
    std::vector<std::string> paths;
    for (const std::size_t i : plan.compile) paths.push_back(plan.files[i].path);
    return paths;
  };
  EXPECT_THAT(compiled(true), ElementsAre("lib/python3.11/os.py", "lib/python3.11/site-packages/greet.py"));
  EXPECT_THAT(compiled(false), IsEmpty());
}

TEST(MakePlan, WritesVariablesWhereCondaLooksForThem) {
  PlanInput input;
  input.prefix = "/p";
  input.variables = {{"B", "2"}, {"A", "one \"1\""}};
  const Plan plan = make_plan(input).value();
  EXPECT_EQ(file_at(plan, "conda-meta/state")->content,
            "{\n  \"env_vars\": {\n    \"A\": \"one \\\"1\\\"\",\n    \"B\": \"2\"\n  }\n}\n");
  EXPECT_EQ(file_at(plan, "conda-meta/history")->content, "");
  EXPECT_EQ(file_at(plan_of({}).value(), "conda-meta/state"), nullptr);
}

TEST(MakePlan, IsOneForEveryOrderOfInput) {
  std::vector<CondaSource> packages = {package("a", {"x", "y"}), package("b", {"x", "z/1"}, {"a"}),
                                       package("c", {"z", "y"}), python()};
  const Plan first = plan_of(packages).value();
  std::sort(packages.begin(), packages.end(),
            [](const auto& a, const auto& b) { return a.info.name > b.info.name; });
  const Plan second = plan_of(packages).value();
  EXPECT_EQ(first.files, second.files);
  EXPECT_EQ(first.directories, second.directories);
  EXPECT_EQ(first.notes, second.notes);
}

// ---- what is refused

TEST(MakePlan, RefusesLinksOutOfThePrefix) {
  const struct {
    const char *path, *text;
    bool inside;
  } cases[] = {
      {"lib/a", "b", true},
      {"lib/a", "../share/b", true},
      {"lib/a", "../../etc/passwd", false},
      {"lib/a", "/etc/passwd", false},
      {"a", "..", false},
      {"a", ".", true},
      {"lib/a", "./x/../../y", true},
      {"lib/a", "a", true},             // goes round
      {"lib/a", "up/../../x", false},   // through another link: lib/up -> .
      {"lib/a", "deep/../../x", true},  // through another link: lib/deep -> ../x/y/z
  };
  for (const auto& c : cases) {
    CondaSource source = with_link(package("p", {}), c.path, c.text);
    source = with_link(with_link(source, "lib/up", ".."), "lib/deep", "../x/y/z");
    const auto plan = plan_of({source});
    EXPECT_EQ(plan.has_value(), c.inside) << c.path << " -> " << c.text;
    if (c.inside) continue;
    EXPECT_THAT(plan, FailsWith(ErrorKind::refused, "'" + std::string(c.path) +
                                                        "' of 'p' is a symbolic link out of the prefix, to '" +
                                                        c.text + "'"));
  }
}

TEST(MakePlan, RefusesLinkScriptsAndNamesThem) {
  CondaSource a = package("a", {"bin/.a-post-link.sh"}), b = package("b", {});
  a.info.link_scripts = {"bin/.a-post-link.sh"};
  b.info.link_scripts = {"bin/.b-pre-link.sh"};
  EXPECT_THAT(
      plan_of({a, b}),
      FailsWith(ErrorKind::refused,
                "pinstep does not run link scripts, and packages have some: 'bin/.a-post-link.sh' of 'a', "
                "'bin/.b-pre-link.sh' of 'b'",
                "look for a build of the package without scripts, or leave it out"));
}

TEST(MakePlan, RefusesAPrefixThatDoesNotFitIntoABinary) {
  const auto with = [](PackagePath::Mode mode, std::size_t size) {
    return plan_of({with_placeholder(package("a", {}), "lib/x.so", mode, size)});
  };
  EXPECT_THAT(
      with(PackagePath::Mode::binary, 24),
      FailsWith(ErrorKind::invalid,
                "the prefix '/store/e/0123456789abcdef' is 25 bytes long; 'lib/x.so' of 'a' has room for 24",
                "put the store at a shorter path"));
  EXPECT_THAT(with(PackagePath::Mode::binary, 25), Succeeds());
  EXPECT_THAT(with(PackagePath::Mode::text, 24), Succeeds());
}

TEST(MakePlan, RefusesPrefixesThatScriptsCannotCarry) {
  for (const char* prefix : {"relative", "/a'b", "/a\"b", "/a$b", "/a`b", "/a\\b", "/a\nb", "/a:b"}) {
    PlanInput input;
    input.prefix = prefix;
    const auto plan = make_plan(input);
    ASSERT_FALSE(plan) << prefix;
    EXPECT_EQ(plan.error().kind, ErrorKind::invalid);
  }
}

TEST(MakePlan, RefusesPythonPackagesWithoutPythonAndNamesThatComeTwice) {
  EXPECT_THAT(plan_of({noarch(package("pip", {}))}),
              FailsWith(ErrorKind::invalid, "'pip' is a python package and the lock has no python"));
  EXPECT_THAT(plan_of({package("a", {}), package("a", {})}),
              FailsWith(ErrorKind::invalid, "the lock has 'a' more than once"));
}

// ---- wheels

WheelSource wheel(const std::string& name, std::vector<std::string> paths) {
  WheelSource source;
  source.locked.name = source.info.name = name;
  source.info.version = "1.0";
  source.info.dist_info = name + "-1.0.dist-info";
  source.info.data = name + "-1.0.data";
  source.directory = "/wheels/" + name;
  for (const std::string& path : paths)
    source.info.files.push_back({path, std::string(64, 'a'), 3, false, 700});
  return source;
}

TEST(MakePlan, PutsTheFilesOfAWheelWhereTheyBelong) {
  WheelSource source =
      wheel("w", {"w/__init__.py", "w-1.0.data/purelib/p.py", "w-1.0.data/platlib/q.so",
                  "w-1.0.data/scripts/tool", "w-1.0.data/headers/w.h", "w-1.0.data/data/share/x",
                  "w-1.0.dist-info/METADATA", "w-1.0.dist-info/INSTALLER"});
  source.info.entry_points = {{"w-cli", "w.cli", "main"}};
  const Plan plan = plan_of({python()}, {source}).value();
  const std::string site = "lib/python3.11/site-packages/";
  EXPECT_EQ(file_at(plan, site + "w/__init__.py")->source, "/wheels/w/w/__init__.py");
  for (const std::string& path :
       {site + "p.py", site + "q.so", std::string("share/x"), site + "w-1.0.dist-info/METADATA",
        std::string("include/site/python3.11/w/w.h")})
    EXPECT_EQ(owner_of(plan, path), "w") << path;
  EXPECT_EQ(file_at(plan, "bin/tool")->kind, Kind::script);
  EXPECT_EQ(file_at(plan, "bin/tool")->content, "/store/e/0123456789abcdef/bin/python3.11");
  EXPECT_TRUE(file_at(plan, "bin/tool")->executable);
  EXPECT_THAT(file_at(plan, "bin/w-cli")->content, HasSubstr("from w.cli import main"));
  EXPECT_EQ(file_at(plan, site + "w-1.0.dist-info/INSTALLER")->content, "pinstep\n");
  // Nothing in RECORD depends on the prefix: scripts have no digest.
  const std::string digest = "sha256=qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqo,3\n";
  EXPECT_EQ(file_at(plan, site + "w-1.0.dist-info/RECORD")->content,
            "../../../bin/tool,,\n../../../bin/w-cli,,\n../../../include/site/python3.11/w/w.h," + digest +
                "../../../share/x," + digest + "p.py," + digest + "q.so," + digest +
                "w-1.0.dist-info/INSTALLER,,\nw-1.0.dist-info/METADATA," + digest +
                "w-1.0.dist-info/RECORD,,\nw/__init__.py," + digest);
}

TEST(MakePlan, RefusesAWheelThatWouldReplaceAFileOfACondaPackage) {
  const CondaSource numpy = noarch(package("numpy", {"site-packages/numpy/__init__.py"}));
  EXPECT_THAT(plan_of({python(), numpy}, {wheel("numpy-mkl", {"numpy/__init__.py"})}),
              FailsWith(ErrorKind::conflict,
                        "the wheel 'numpy-mkl' would replace 'lib/python3.11/site-packages/numpy/__init__.py' "
                        "of the package 'numpy'",
                        "take 'numpy-mkl' from conda, or take 'numpy' out of the spec"));
}

TEST(MakePlan, LetsWheelsShareWhatIsTheSameAndTheFirstNameHaveTheRest) {
  WheelSource b = wheel("b", {"ns/__init__.py", "ns/x.py"}), a = wheel("a", {"ns/__init__.py", "ns/x.py"});
  b.info.files[1].sha256 = std::string(64, 'b');
  const Plan plan = plan_of({python()}, {b, a}).value();
  EXPECT_EQ(owner_of(plan, "lib/python3.11/site-packages/ns/x.py"), "a");
  EXPECT_THAT(plan.notes,
              ElementsAre("'lib/python3.11/site-packages/ns/x.py' of 'b' left out: 'a' is in the way"));
}

TEST(MakePlan, RefusesWheelsWithoutPythonOrWithUnknownData) {
  EXPECT_THAT(plan_of({}, {wheel("w", {})}),
              FailsWith(ErrorKind::invalid, "the lock has wheels and no python to install them for"));
  const auto odd = plan_of({python()}, {wheel("w", {"w-1.0.data/systemlib/x"})});
  ASSERT_FALSE(odd);
  EXPECT_EQ(odd.error().kind, ErrorKind::refused);
  EXPECT_FALSE(plan_of({python()}, {wheel("w", {"w-1.0.data/data/conda-meta/frozen"})}));
}

}  // namespace
}  // namespace pinstep
