#include "envtools/pin/pin.h"

#include <set>

#include "tests/unit/support/pins.h"
#include "tests/unit/support/random.h"
#include "tests/unit/support/results.h"

namespace pinstep {

namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::SizeIs;
using testing_support::FailsWith;
using testing_support::Holds;
using testing_support::Random;
using testing_support::shown;
using testing_support::Succeeds;

const std::string kId(64, 'c');
const std::string kLock(64, 'd');
const std::string kAgain = "submit the job again";

Pin foreign_pin() {
  Pin pin;
  pin.token = "0123456789abcdef";
  pin.prefixes = {{"linux-64", "-", "/home/u/env"}};
  return pin;
}

const std::string kForeignText =
    "1;kind=foreign;token=0123456789abcdef;lock=-;store=-;overlays=;shape=auto;share=0;policy=;profile=-;"
    "source=-;env=linux-64 - /home/u/env";

Pin store_pin() {
  Pin pin;
  pin.kind = Pin::Kind::store;
  pin.token = "fedcba9876543210";
  pin.lock = kLock;
  pin.store = "/s t;o%re";
  pin.overlays = {"/src/a b", "/src/ä"};
  pin.shape = Shape::torchrun;
  pin.gpu_share = true;
  pin.policies.user_site = Policies::UserSite::keep;
  pin.policies.ld_library_path = Policies::ClearOrKeep::clear;
  pin.build_in_job = true;
  pin.profile = "glibc=2.28,cuda=12";
  pin.source = "4f2a;dirty";
  pin.prefixes = {{"linux-64", kId, pin.store + "/e/" + kId.substr(0, 16)},
                  {"linux-aarch64", kLock, pin.store + "/e/" + kLock.substr(0, 16)}};
  return pin;
}

const std::string kStoreText =
    "1;kind=store;token=fedcba9876543210;lock=" + kLock +
    ";store=/s%20t%3Bo%25re;overlays=/src/a%20b /src/%C3%A4;shape=torchrun;share=1;"
    "policy=user_site:keep ld_library_path:clear build:job;profile=glibc=2.28,cuda=12;"
    "source=4f2a%3Bdirty;env=linux-64 " +
    kId + " /s%20t%3Bo%25re/e/cccccccccccccccc;env=linux-aarch64 " + kLock +
    " /s%20t%3Bo%25re/e/dddddddddddddddd";

Pin pin_without_environment() {
  Pin pin;
  pin.kind = Pin::Kind::none;
  pin.token = "0123456789abcdef";
  pin.shape = Shape::torchrun;
  return pin;
}

const std::string kNoneText =
    "1;kind=none;token=0123456789abcdef;lock=-;store=-;overlays=;shape=torchrun;share=0;policy=;profile=-;source=-";

// The text with one part of it replaced, which must be there.
std::string replaced(std::string text, std::string_view old_part, std::string_view new_part) {
  const std::size_t at = text.find(old_part);
  if (at == std::string::npos) throw std::logic_error("no '" + std::string(old_part) + "' in " + text);
  return text.replace(at, old_part.size(), new_part);
}

TEST(PinText, IsWhatTheFormatNoteSays) {
  EXPECT_EQ(foreign_pin().text(), kForeignText);
  EXPECT_EQ(store_pin().text(), kStoreText);
  EXPECT_EQ(pin_without_environment().text(), kNoneText);
}

TEST(PinParse, GivesThePinBack) {
  EXPECT_THAT(Pin::parse(kForeignText), Holds(foreign_pin()));
  EXPECT_THAT(Pin::parse(kStoreText), Holds(store_pin()));
  EXPECT_THAT(Pin::parse(kNoneText), Holds(pin_without_environment()));
}

TEST(PinParse, IgnoresUnknownFieldsAfterTheLastPrefix) {
  for (const std::string after :
       {";", ";future=1", ";future", ";x=%zz;env=linux-64 - /other", ";;;", ";kind=store"})
    EXPECT_THAT(Pin::parse(kForeignText + after), Holds(foreign_pin())) << shown(after);
}

TEST(PinParse, HasPrefixesJustWhereThereIsAnEnvironment) {
  EXPECT_THAT(Pin::parse(kNoneText + ";env=linux-64 - /home/u/env"),
              FailsWith(ErrorKind::invalid, "the job's pin has no valid field 'env'", "submit the job again"));
  EXPECT_THAT(pin_without_environment().prefix_for("linux-64"),
              FailsWith(ErrorKind::not_found, "this job was submitted without an environment",
                        "submit it with --env-spec"));
}

TEST(PinParse, TakesWhatAnotherWriterMayWriteForTheSamePin) {
  struct Case {
    const char* old_part;
    const char* new_part;
  };
  for (const Case& c : {Case{"/home/u/env", "%2Fhome%2fu/env"}, Case{"policy=", "policy=user_site:off"},
                        Case{"policy=", "policy=user_site%3Aoff pythonpath:entry"}})
    EXPECT_THAT(Pin::parse(replaced(kForeignText, c.old_part, c.new_part)), Holds(foreign_pin())) << c.new_part;
}

TEST(PinParse, TellsANewerSchemaFromABrokenOne) {
  const std::string hint = "ask for the node's pinstep to be updated";
  for (const std::string schema : {"2", "10", "4294967295"})
    EXPECT_THAT(
        Pin::parse(schema + ";whatever=follows"),
        FailsWith(ErrorKind::invalid,
                  "the job was submitted by a newer pinstep (pin schema " + schema + ", this one reads 1)",
                  hint))
        << schema;
  for (const std::string text : {"", ";", "0;", "-1;", "x;", " 1;", "1 ;", "kind=store", "99999999999;"})
    EXPECT_THAT(Pin::parse(text), FailsWith(ErrorKind::invalid, "the job's pin has no valid schema", kAgain))
        << shown(text);
}

struct Refused {
  std::string old_part, new_part, field;
};

TEST(PinParse, RefusesAFieldThatIsWrongAndNamesIt) {
  const std::string short_id = kId.substr(1);
  const Refused cases[] = {
      {"kind=store", "kind=", "kind"},
      {"kind=store", "kind=other", "kind"},
      {"kind=store", "Kind=store", "kind"},
      {"kind=store", "kind", "kind"},
      {"token=fedcba9876543210", "token=fedcba987654321", "token"},
      {"token=fedcba9876543210", "token=fedcba98765432100", "token"},
      {"token=fedcba9876543210", "token=FEDCBA9876543210", "token"},
      {"token=fedcba9876543210", "token=%66edcba9876543210", "token"},
      {"token=fedcba9876543210", "token", "token"},
      {"lock=" + kLock, "lock=", "lock"},
      {"lock=" + kLock, "lock=" + kLock + "0", "lock"},
      {"store=/", "store=", "store"},
      {"store=/s%20t%3Bo%25re", "store=-", "store"},
      {"store=/s%20t%3Bo%25re", "store=/s t", "store"},
      {"store=/s%20t%3Bo%25re", "store=/%00", "store"},
      {"store=/s%20t%3Bo%25re", "store=/%2", "store"},
      {"overlays=/src/a", "overlays=src/a", "overlays"},
      {"overlays=/src/a", "overlays= /src/a", "overlays"},
      {"/src/%C3%A4;", "/src/%C3%A4 ;", "overlays"},
      {"/src/%C3%A4;", "/src/%;", "overlays"},
      {"/src/%C3%A4;", "/src/%00;", "overlays"},
      {"shape=torchrun", "shape=", "shape"},
      {"shape=torchrun", "shape=Rank", "shape"},
      {"share=1", "share=2", "share"},
      {"share=1", "share=", "share"},
      {"share=1", "share=01", "share"},
      {"user_site:keep", "user_site=keep", "policy"},
      {"user_site:keep", "user_site:maybe", "policy"},
      {"user_site:keep", "unknown:keep", "policy"},
      {"user_site:keep", "trusted_uids:1", "policy"},
      {"user_site:keep", "user_site", "policy"},
      {"user_site:keep", ":", "policy"},
      {"user_site:keep ", "user_site:keep  ", "policy"},
      {"profile=glibc", "profile=%", "profile"},
      {"profile=glibc", "profile=a b", "profile"},
      {"source=4f2a%3B", "source=4f2a ", "source"},
      {";source=4f2a%3Bdirty", "", "source"},
      {"env=linux-64 " + kId, "env=linux-64 -", "env"},
      {"env=linux-64 " + kId, "env=linux-64 " + short_id, "env"},
      {"env=linux-64 " + kId, "env= " + kId, "env"},
      {"env=linux-64 " + kId, "env=" + kId, "env"},
      {"env=linux-aarch64", "env=linux-64", "env"},
      {"/e/cccccccccccccccc", "/e/cccccccccccccccd", "env"},
      {"/e/cccccccccccccccc", "/e/cccccccccccccccc/", "env"},
      {"/e/cccccccccccccccc", "/e/cccccccccccccccc extra", "env"},
      {" /s%20t%3Bo%25re/e/", " /other/e/", "env"},
      {" /s%20t%3Bo%25re/e/", " s/e/", "env"},
  };
  for (const Refused& c : cases)
    EXPECT_THAT(Pin::parse(replaced(kStoreText, c.old_part, c.new_part)),
                FailsWith(ErrorKind::invalid, "the job's pin has no valid field '" + c.field + "'", kAgain))
        << c.old_part << " replaced by " << shown(c.new_part);
}

TEST(PinParse, RefusesAForeignPrefixThatIsPinnedOrNotAbsolute) {
  for (const std::string& env :
       {"linux-64 " + kId + " /home/u/env", std::string("linux-64 - home/u/env"), std::string("linux-64 - "),
        std::string("linux-64  /home/u/env"), std::string("linux-64 - /a%00b"), std::string("")})
    EXPECT_THAT(Pin::parse(replaced(kForeignText, "linux-64 - /home/u/env", env)),
                FailsWith(ErrorKind::invalid, "the job's pin has no valid field 'env'", kAgain))
        << shown(env);
}

TEST(PinParse, RefusesAMissingOrMisplacedField) {
  const std::string fields[] = {"kind",  "token",  "lock",    "store",  "overlays", "shape",
                                "share", "policy", "profile", "source", "env"};
  for (const std::string& field : fields) {
    const std::size_t start = kForeignText.find(";" + field + "=");
    const std::size_t end = kForeignText.find(';', start + 1);
    std::string without = kForeignText;
    without.erase(start, end == std::string::npos ? end : end - start);
    EXPECT_THAT(Pin::parse(without),
                FailsWith(ErrorKind::invalid, "the job's pin has no valid field '" + field + "'", kAgain))
        << shown(without);

    std::string twice = kForeignText;
    if (field == "env") continue;
    twice.insert(start, kForeignText.substr(start, end - start));
    EXPECT_FALSE(Pin::parse(twice)) << shown(twice);
  }
}

TEST(PinParse, RefusesEveryTextThatWasCutOff) {
  for (const std::string& text : {kForeignText, kStoreText})
    for (std::size_t length = 0; length < text.size(); ++length) {
      const auto pin = Pin::parse(text.substr(0, length));
      if (!pin) continue;
      // What is left is whole by itself: without the second platform, or with a shorter path.
      const std::size_t last = text.rfind(";env=");
      EXPECT_TRUE(length == last || text[length - 1] != ' ') << shown(text.substr(0, length));
      EXPECT_THAT(Pin::parse(pin->text()), Holds(*pin)) << shown(text.substr(0, length));
    }
}

TEST(PinParse, RefusesBytesThatAreNotPrintable) {
  const std::string cause = "the job's pin holds bytes that are not printable ASCII";
  for (const std::string bad : {"\t", "\n", "\x7f", "\x80", "ä"}) {
    EXPECT_THAT(Pin::parse(kForeignText + bad), FailsWith(ErrorKind::invalid, cause, kAgain)) << shown(bad);
    EXPECT_THAT(Pin::parse(kForeignText + ";future=" + bad), FailsWith(ErrorKind::invalid, cause, kAgain))
        << shown(bad);
  }
  EXPECT_THAT(Pin::parse(std::string("1;kind=foreign\0;", 16)), FailsWith(ErrorKind::invalid, cause, kAgain));
}

TEST(PinParse, RefusesToBuildInTheJobWithoutAStoreAndALock) {
  const auto refused = FailsWith(ErrorKind::invalid, "the job's pin has no valid field 'policy'", kAgain);
  EXPECT_THAT(Pin::parse(replaced(kForeignText, ";policy=", ";policy=build:job")), refused);
  EXPECT_THAT(Pin::parse(replaced(kStoreText, ";lock=" + kLock, ";lock=-")), refused);
}

TEST(PinParse, TakesTheLongestTextAndNoLonger) {
  std::string text = kForeignText;
  text.append(Pin::kSizeLimit - text.size(), 'x');
  EXPECT_THAT(Pin::parse(text), Succeeds());
  EXPECT_THAT(Pin::parse(text + "x"),
              FailsWith(ErrorKind::invalid, "the job's pin is longer than 4096 bytes", kAgain));
}

TEST(Pin, IsTheSameAfterItsTextWasParsed) {
  Random random;
  constexpr Shape kShapes[] = {Shape::automatic, Shape::rank, Shape::torchrun, Shape::spawn, Shape::none};
  const auto path = [&] { return "/" + random.text("ab/ ;%=:,\n\xff", 0, 8); };
  for (int i = 0; i < 2000; ++i) {
    Pin pin;
    pin.kind = random.one_in(2) ? Pin::Kind::store : Pin::Kind::foreign;
    pin.token = random.text("0123456789abcdef", 16, 16);
    pin.lock = random.one_in(2) ? "-" : random.text("0123456789abcdef", 64, 64);
    pin.store = pin.kind == Pin::Kind::foreign && random.one_in(2) ? "-" : path();
    for (std::size_t n = random.below(4); n > 0; --n) pin.overlays.push_back(path());
    pin.shape = random.pick(kShapes);
    pin.gpu_share = random.one_in(2);
    if (random.one_in(2)) pin.policies.pythonpath = Policies::PythonPath::keep;
    if (random.one_in(2)) pin.policies.pythonhome = Policies::ClearOrKeep::keep;
    pin.build_in_job = pin.kind == Pin::Kind::store && pin.lock != "-" && random.one_in(2);
    pin.profile = random.bytes(0, 10);
    pin.source = random.bytes(0, 10);
    std::set<std::string> platforms;
    for (std::size_t n = random.between(1, 3); n > 0; --n) platforms.insert(random.text("ab; ", 1, 4));
    for (const std::string& platform : platforms) {
      const std::string id = pin.kind == Pin::Kind::foreign ? "-" : random.text("0123456789abcdef", 64, 64);
      const std::string prefix = pin.kind == Pin::Kind::foreign ? path() : pin.store + "/e/" + id.substr(0, 16);
      pin.prefixes.push_back({platform, id, prefix});
    }
    ASSERT_THAT(Pin::parse(pin.text()), Holds(pin)) << random << shown(pin.text());
  }
}

TEST(Pin, StaysReadableOrIsRefusedWhenBytesOfItChange) {
  Random random;
  for (int i = 0; i < 5000; ++i) {
    std::string text = random.one_in(2) ? kForeignText : kStoreText;
    for (std::size_t n = random.between(1, 3); n > 0; --n) {
      const std::size_t at = random.below(text.size());
      if (random.one_in(3))
        text.erase(at, random.between(1, 4));
      else if (random.one_in(2))
        text.insert(at, 1, random.pick(std::string_view(";=% /-:0a")));
      else
        text[at] = static_cast<char>(random.between(0x20, 0x7e));
    }
    const auto pin = Pin::parse(text);
    if (!pin) continue;
    ASSERT_THAT(Pin::parse(pin->text()), Holds(*pin)) << random << shown(text);
  }
}

TEST(PinPrefixFor, FindsThePlatformOrNamesThoseThereAre) {
  const Pin pin = store_pin();
  EXPECT_THAT(pin.prefix_for("linux-aarch64"), Holds(pin.prefixes[1]));
  EXPECT_THAT(pin.prefix_for("linux-ppc64le"),
              FailsWith(ErrorKind::invalid,
                        "the job's environment is pinned for linux-64, linux-aarch64, not for linux-ppc64le",
                        "submit it with a lock that covers this platform"));
  EXPECT_FALSE(pin.prefix_for("linux"));
}

TEST(OwnPlatform, IsOneOfCondas) { EXPECT_THAT(std::string(own_platform()), HasSubstr("linux-")); }

TEST(Shape, IsReadBackFromItsName) {
  struct Case {
    Shape shape;
    std::string_view name;
  };
  for (const Case& c :
       {Case{Shape::automatic, "auto"}, Case{Shape::rank, "rank"}, Case{Shape::torchrun, "torchrun"},
        Case{Shape::spawn, "spawn"}, Case{Shape::none, "none"}}) {
    EXPECT_EQ(to_string(c.shape), c.name);
    EXPECT_EQ(parse_shape(c.name), c.shape) << c.name;
  }
  for (const std::string_view name : {"", "Auto", "automatic", "rank ", "ranks"})
    EXPECT_FALSE(parse_shape(name)) << name;
}

TEST(NewToken, IsNewEachTime) {
  std::set<std::string> tokens;
  for (int i = 0; i < 100; ++i) {
    const std::string token = new_token();
    EXPECT_THAT(token, SizeIs(16));
    EXPECT_THAT(token, MatchesRegex("[0-9a-f]*"));
    tokens.insert(token);
  }
  EXPECT_THAT(tokens, SizeIs(100));
}

}  // namespace
}  // namespace pinstep
