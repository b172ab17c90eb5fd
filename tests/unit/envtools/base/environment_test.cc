#include "envtools/base/environment.h"

#include "tests/unit/support/random.h"
#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;
using testing_support::Random;

TEST(EnvironmentFrom, KeepsAnyNameAndDropsWhatIsNoVariable) {
  const char* entries[] = {"A=1",
                           "BASH_FUNC_module%%=() { :; }",
                           "no equals sign",
                           "=empty name",
                           "EMPTY=",
                           "WITH=a=b",
                           "DOT.AND-DASH=2",
                           "",
                           nullptr};
  EXPECT_EQ(Environment::from(entries), (Environment{{{"A", "1"},
                                                      {"BASH_FUNC_module%%", "() { :; }"},
                                                      {"EMPTY", ""},
                                                      {"WITH", "a=b"},
                                                      {"DOT.AND-DASH", "2"}}}));
}

TEST(EnvironmentFrom, LetsTheFirstOfTwoEntriesCount) {
  const char* entries[] = {"A=first", "A=second", nullptr};
  EXPECT_EQ(Environment::from(entries), (Environment{{{"A", "first"}}}));
}

TEST(EnvironmentFrom, TakesNoArrayForAnEmptyOne) { EXPECT_EQ(Environment::from(nullptr), Environment{}); }

TEST(Environment, TellsAnEmptyVariableFromAnUnsetOne) {
  const Environment environment{{{"EMPTY", ""}}};
  EXPECT_THAT(environment.get("EMPTY"), Optional(std::string_view()));
  EXPECT_EQ(environment.get("UNSET"), std::nullopt);
  EXPECT_TRUE(environment.has("EMPTY"));
  EXPECT_FALSE(environment.has("UNSET"));
}

TEST(Environment, SetsReplacesAndUnsets) {
  Environment environment;
  environment.set("A", "1");
  environment.set("A", "2");
  environment.set("B", "3");
  environment.unset("B");
  environment.unset("NEVER_SET");
  EXPECT_EQ(environment, (Environment{{{"A", "2"}}}));
}

TEST(Environment, SetsAVariableFromItsOwnValue) {
  Environment environment{{{"A", "a value too long to live inside the string object"}}};
  environment.set("A", environment.get("A")->substr(2));
  EXPECT_THAT(environment.get("A"),
              Optional(std::string_view("value too long to live inside the string object")));
}

TEST(Environment, ListsItsEntriesSortedByName) {
  EXPECT_THAT((Environment{{{"B", ""}, {"A", "1"}, {"AB", "x=y"}}}.entries()),
              ElementsAre("A=1", "AB=x=y", "B="));
  EXPECT_THAT(Environment().entries(), IsEmpty());
}

TEST(Environment, ComesBackFromItsEntries) {
  Random random;
  for (int i = 0; i < 300; ++i) {
    Environment environment;
    for (std::size_t n = random.below(10); n > 0; --n)
      environment.set(random.text("AB_%()c.", 1, 4), random.text("ab=: \n\x80", 0, 6));
    const std::vector<std::string> entries = environment.entries();
    std::vector<const char*> pointers;
    for (const std::string& entry : entries) pointers.push_back(entry.c_str());
    pointers.push_back(nullptr);
    ASSERT_EQ(Environment::from(pointers.data()), environment) << random;
  }
}

TEST(EditOp, IsReadBackFromItsName) {
  struct Case {
    EditOp op;
    std::string_view name;
  };
  for (const Case& c :
       {Case{EditOp::set, "set"}, Case{EditOp::unset, "unset"}, Case{EditOp::prepend, "prepend"},
        Case{EditOp::append, "append"}, Case{EditOp::remove, "remove"}}) {
    EXPECT_EQ(to_string(c.op), c.name);
    EXPECT_EQ(parse_edit_op(c.name), c.op) << c.name;
  }
  for (const std::string_view name : {"", "Set", "set ", "setenv", "se"})
    EXPECT_FALSE(parse_edit_op(name)) << name;
}

struct ListCase {
  const char* before;  // nullptr: the variable is unset
  EditOp op;
  const char* value;
  const char* after;
  Prepend prepend = Prepend::moves_to_front;
};

TEST(Apply, EditsListsElementByElement) {
  constexpr auto keep = Prepend::keeps_its_place;
  const ListCase cases[] = {
      {nullptr, EditOp::prepend, "/x", "/x"},
      {"", EditOp::prepend, "/x", "/x"},
      {"/a", EditOp::prepend, "/x", "/x:/a"},
      {"/a:/x:/b", EditOp::prepend, "/x", "/x:/a:/b"},
      {"/x:/a:/x", EditOp::prepend, "/x", "/x:/a"},
      {"/a:/x:/b", EditOp::prepend, "/x", "/a:/x:/b", keep},
      {"/a:/b", EditOp::prepend, "/x", "/x:/a:/b", keep},
      {nullptr, EditOp::append, "/x", "/x"},
      {"/a", EditOp::append, "/x", "/a:/x"},
      {"/x:/a", EditOp::append, "/x", "/x:/a"},
      {nullptr, EditOp::remove, "/x", nullptr},
      {"", EditOp::remove, "/x", nullptr},
      {"/x", EditOp::remove, "/x", nullptr},
      {"/x:/x", EditOp::remove, "/x", nullptr},
      {"/x:/a:/x:/b", EditOp::remove, "/x", "/a:/b"},
      {"/a", EditOp::remove, "/x", "/a"},
      {"/xx:/x/", EditOp::remove, "/x", "/xx:/x/"},    // whole elements, as they are written
      {"/a::/b", EditOp::prepend, "/x", "/x:/a::/b"},  // an empty element is the working directory on PATH
      {"/a::/x", EditOp::remove, "/x", "/a:"},
      {"/x:", EditOp::remove, "/x", nullptr},  // "" has no elements, so nothing of this list is left
      {":/x", EditOp::remove, "/x", nullptr},
      {":", EditOp::append, "/x", "::/x"},
  };
  for (const ListCase& c : cases) {
    Environment environment;
    if (c.before != nullptr) environment.set("LIST", c.before);
    const Edit edit{c.op, "LIST", c.value};
    apply(environment, edit, c.prepend);
    const auto after = environment.get("LIST");
    const auto what = testing::PrintToString(edit) + " on " + (c.before ? c.before : "unset");
    EXPECT_EQ(after, c.after ? std::optional<std::string_view>(c.after) : std::nullopt) << what;
  }
}

TEST(Apply, SetsAndUnsetsWholeValues) {
  Environment environment{{{"A", "1"}, {"B", "2"}}};
  apply(environment, {EditOp::set, "A", "x:y"});
  apply(environment, {EditOp::set, "C", ""});
  apply(environment, {EditOp::unset, "B", {}});
  EXPECT_EQ(environment, (Environment{{{"A", "x:y"}, {"C", ""}}}));
}

TEST(Apply, GivesTheSameResultWhenDoneTwice) {
  Random random;
  constexpr EditOp kOps[] = {EditOp::set, EditOp::unset, EditOp::prepend, EditOp::append, EditOp::remove};
  for (int i = 0; i < 2000; ++i) {
    Environment once;
    if (!random.one_in(5)) once.set("LIST", random.text("ab:", 0, 8));
    const std::string value = random.text("ab", 1, 2);
    const Edit edit{kOps[random.below(5)], "LIST", value};
    const std::string before(once.get("LIST").value_or("unset"));
    apply(once, edit);
    Environment twice = once;
    apply(twice, edit);
    ASSERT_EQ(twice, once) << random << testing::PrintToString(edit) << " on " << before;
  }
}

TEST(Diff, NamesWhatIsSetChangedAndGoneInOrder) {
  const Environment before{{{"CHANGED", "1"}, {"GONE", "2"}, {"SAME", "3"}}};
  const Environment after{{{"CHANGED", "x"}, {"NEW", ""}, {"SAME", "3"}}};
  EXPECT_THAT(diff(before, after), ElementsAre(Edit{EditOp::set, "CHANGED", "x"},
                                               Edit{EditOp::unset, "GONE", ""}, Edit{EditOp::set, "NEW", ""}));
  EXPECT_THAT(diff(before, before), IsEmpty());
}

TEST(Diff, AppliedToTheFirstGivesTheSecond) {
  Random random;
  const auto made_up = [&] {
    Environment environment;
    for (std::size_t n = random.below(12); n > 0; --n)
      environment.set(random.text("ABC", 1, 2), random.text("xy", 0, 2));
    return environment;
  };
  for (int i = 0; i < 2000; ++i) {
    const Environment before = made_up();
    const Environment after = made_up();
    Environment patched = before;
    for (const Edit& edit : diff(before, after)) apply(patched, edit);
    ASSERT_EQ(patched, after) << random;
  }
}

TEST(ListElements, GivesNoneForAnEmptyList) {
  EXPECT_THAT(list_elements(""), IsEmpty());
  EXPECT_THAT(list_elements("a"), ElementsAre("a"));
  EXPECT_THAT(list_elements("a::b:"), ElementsAre("a", "", "b", ""));
}

TEST(ExpandVariables, KnowsHomeAndBothForms) {
  const Environment environment{{{"HOME", "/h"}, {"USER", "u"}, {"EMPTY", ""}}};
  const auto expand = [&](std::string_view text) {
    return expand_variables(text, environment).value_or("refused");
  };
  EXPECT_EQ(expand("~/x/$USER/${USER}y"), "/h/x/u/uy");
  EXPECT_EQ(expand("/plain/~"), "/plain/~");
  EXPECT_EQ(expand("~"), "/h");
  EXPECT_EQ(expand(""), "");
  for (const char* text : {"$EMPTY", "$ABSENT/x", "$", "$/x", "${USER", "${}"})
    EXPECT_EQ(expand(text), "refused") << text;
}

}  // namespace
}  // namespace pinstep
