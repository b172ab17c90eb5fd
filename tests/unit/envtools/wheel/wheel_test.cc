#include "envtools/wheel/wheel.h"

#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>

#include <filesystem>
#include <map>

#include "envtools/base/fd.h"
#include "envtools/hash/hash.h"
#include "tests/unit/support/files.h"
#include "tests/unit/support/random.h"
#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace testing_support;

// ---- RECORD

TEST(ParseRecord, ReadsPathsDigestsAndSizes) {
  const auto lines = parse_record(
      "a/b.py,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0\r\n"
      "\"with, comma and \"\"quotes\"\"\",,\n"
      "a-1.dist-info/RECORD,,\n",
      "RECORD");
  EXPECT_THAT(lines, Holds(ElementsAre(RecordLine{"a/b.py", sha256_hex(""), 0},
                                       RecordLine{"with, comma and \"quotes\"", "", 0},
                                       RecordLine{"a-1.dist-info/RECORD", "", 0})));
  EXPECT_THAT(parse_record("", "RECORD"), Holds(testing::IsEmpty()));
}

TEST(ParseRecord, RefusesWhatItCannotCheck) {
  const struct {
    const char *text, *cause;
  } cases[] = {
      {"x,,\na,b\n", "R:2: not a path, a digest and a size"},
      {"a,md5=1B2M2Y8AsgTpgAmY7PhCfg,0\n", "R:1: a digest other than sha256"},
      {"a,sha256=47DEQpj8HBSa,0\n", "R:1: this is no sha256"},
      {"a,sha256=47DEQpj8HBSa!!TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0\n", "R:1: this is no sha256"},
      {"a,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,-1\n", "R:1: this is no size"},
  };
  for (const auto& c : cases)
    EXPECT_THAT(parse_record(c.text, "R"), FailsWith(ErrorKind::corrupt, c.cause)) << c.text;
}

TEST(ParseRecord, ReadsWhatFormatRecordWrites) {
  Random random;
  for (int i = 0; i < 500; ++i) {
    std::vector<RecordLine> lines;
    for (std::size_t count = random.below(5); count-- > 0;) {
      RecordLine line{"p" + random.text("a,\" /.é", 0, 12), "", 0};
      if (random.one_in(2)) line = {line.path, sha256_hex(random.bytes(0, 9)), random.below(1000)};
      lines.push_back(line);
    }
    ASSERT_THAT(parse_record(format_record(lines), "R"), Holds(testing::Eq(lines)))
        << random << format_record(lines);
  }
}

TEST(ParseRecord, SurvivesAnyBytes) {
  Random random;
  for (int i = 0; i < 2000; ++i) {
    const std::string text = random.one_in(2) ? random.bytes(0, 60) : random.text("a,\"\nsha256=_-\r", 0, 80);
    const auto lines = parse_record(text, "R").value_or(std::vector<RecordLine>());
    for (const RecordLine& line : lines) ASSERT_TRUE(line.sha256.empty() || is_hex(line.sha256, 64)) << random;
  }
}

// ---- entry_points.txt

MATCHER_P3(Calls, command, module, function, "") {
  return arg.command == command && arg.module == module && arg.function == function;
}

TEST(ParseEntryPoints, TakesCommandsOnly) {
  EXPECT_THAT(parse_entry_points("# comment\n"
                                 "[console_scripts]\n"
                                 "b = pkg.cli:main\n"
                                 "a=pkg:App.run [extra]\n"
                                 "; comment\n"
                                 "[other.plugins]\n"
                                 "x = anything at all\n"
                                 "\n"
                                 " [gui_scripts] \n"
                                 "c : pkg\n"
                                 "c = pkg:gui\n",
                                 "e"),
              FailsWith(ErrorKind::corrupt, "e:10: 'c : pkg' is not 'command = module:function'"));
  EXPECT_THAT(parse_entry_points("[console_scripts]\nb = pkg.cli:main\na=pkg:App.run [extra]\n[x]\ny=z\n", "e"),
              Holds(ElementsAre(Calls("a", "pkg", "App.run"), Calls("b", "pkg.cli", "main"))));
}

TEST(ParseEntryPoints, RefusesCommandsAndFunctionsThatAreNone) {
  for (const char* line : {"../x = a:b", "a/b = a:b", ".hidden = a:b", " = a:b", "x = a:b()",
                           "x = a; import os:b", "x = :b", "x = a:", "x y = a:b"}) {
    const auto entries = parse_entry_points(std::string("[console_scripts]\n") + line + "\n", "e");
    ASSERT_FALSE(entries) << line;
    EXPECT_EQ(entries.error().kind, ErrorKind::refused) << line;
  }
}

// ---- archives

using Members = std::map<std::string, std::string>;

void write_zip(const std::string& path, const Members& members) {
  struct archive* zip = archive_write_new();
  archive_write_set_format_zip(zip);
  archive_write_open_filename(zip, path.c_str());
  struct archive_entry* entry = archive_entry_new();
  for (const auto& [name, content] : members) {
    archive_entry_clear(entry);
    archive_entry_set_pathname(entry, name.c_str());
    archive_entry_set_size(entry, static_cast<la_int64_t>(content.size()));
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, name.starts_with("w-1.0.data/scripts") ? 0755 : 0644);
    archive_entry_set_mtime(entry, 1600000000, 0);
    archive_write_header(zip, entry);
    archive_write_data(zip, content.data(), content.size());
  }
  archive_entry_free(entry);
  archive_write_free(zip);
}

Members good_wheel() {
  return {{"w/__init__.py", "x = 1\n"},
          {"w-1.0.data/scripts/tool", "#!python\n"},
          {"w-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n"},
          {"w-1.0.dist-info/METADATA", "Name: w\n"},
          {"w-1.0.dist-info/entry_points.txt", "[console_scripts]\nw = w:main\n"}};
}

std::string record_of(const Members& members) {
  std::vector<RecordLine> lines;
  for (const auto& [name, content] : members) lines.push_back({name, sha256_hex(content), content.size()});
  lines.push_back({"w-1.0.dist-info/RECORD", "", 0});
  return format_record(lines);
}

class WheelArchive : public testing::Test {
 protected:
  WheelArchive() { std::filesystem::create_directory(cache_); }

  Result<std::string> extract(const Members& members) {
    const std::string path = directory_ / "w-1.0-py3-none-any.whl";
    write_zip(path, members);
    return extract_wheel_into_cache(path, cache_, hash_file(path).value());
  }
  Result<std::string> extract_recorded(Members members) {
    members["w-1.0.dist-info/RECORD"] = record_of(members);
    return extract(members);
  }

  TemporaryDirectory directory_;
  std::string cache_ = directory_ / "cache";
};

TEST_F(WheelArchive, IsUnpackedAndRead) {
  const auto home = extract_recorded(good_wheel());
  ASSERT_THAT(home, Succeeds());
  EXPECT_THAT(*home, HasSubstr("/cache/w-1.0-py3-none-any-"));
  const auto info = read_wheel(*home);
  ASSERT_THAT(info, Succeeds());
  EXPECT_EQ(info->name, "w");
  EXPECT_EQ(info->version, "1.0");
  EXPECT_EQ(info->data, "w-1.0.data");
  EXPECT_THAT(info->entry_points, ElementsAre(Calls("w", "w", "main")));
  ASSERT_EQ(info->files.size(), 5u);
  EXPECT_EQ(info->files[0].path, "w-1.0.data/scripts/tool");
  EXPECT_TRUE(info->files[0].executable);
  EXPECT_EQ(info->files[4].path, "w/__init__.py");
  EXPECT_EQ(info->files[4].size, 6u);
  EXPECT_EQ(info->files[4].time, 1600000000);
  struct stat file {};
  ASSERT_EQ(::stat((*home + "/w/__init__.py").c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 07777, 0444u);
}

TEST_F(WheelArchive, IsRefusedUnlessEveryFileIsAsRecorded) {
  const struct {
    const char *name, *cause;
    void (*spoil)(Members&);
  } cases[] = {
      {"another content", "another sha256", [](Members& m) { m["w/__init__.py"] = "x = 2\n"; }},
      {"not listed", "does not list", [](Members& m) { m["w/more.py"] = ""; }},
      {"not there", "which is not there", [](Members& m) { m.erase("w/__init__.py"); }},
      {"no digest", "has no sha256",
       [](Members& m) { m["w-1.0.dist-info/RECORD"] += "w/x.py,,\n", m["w/x.py"] = ""; }},
      {"no RECORD", "RECORD", [](Members& m) { m.erase("w-1.0.dist-info/RECORD"); }},
      {"no dist-info", "no .dist-info",
       [](Members& m) {
         m = {{"x", ""}};
       }},
      {"two dist-info", "more than one", [](Members& m) { m["v-1.0.dist-info/WHEEL"] = ""; }},
      {"a newer version", "wheel version 2.0",
       [](Members& m) { m["w-1.0.dist-info/WHEEL"] = "Wheel-Version: 2.0\n"; }},
  };
  for (const auto& c : cases) {
    Members members = good_wheel();
    members["w-1.0.dist-info/RECORD"] = record_of(members);
    c.spoil(members);
    const auto home = extract(members);
    ASSERT_FALSE(home) << c.name;
    EXPECT_THAT(home.error().cause, HasSubstr(c.cause)) << c.name;
  }
  EXPECT_THAT(std::filesystem::directory_iterator(cache_ + "/.extract"),
              testing::Eq(std::filesystem::directory_iterator()));
}

TEST_F(WheelArchive, IsNotTakenFromTheCacheWhenItWasChangedSince) {
  const auto home = extract_recorded(good_wheel());
  ASSERT_THAT(home, Succeeds());
  EXPECT_THAT(extract_recorded(good_wheel()), Succeeds());
  for (const auto& entry : std::filesystem::recursive_directory_iterator(*home)) {
    if (!entry.is_regular_file()) continue;
    const std::string path = entry.path(), aside = directory_ / "aside";
    std::filesystem::rename(path, aside);
    write_file(path, "");
    const auto again = extract_recorded(good_wheel());
    ASSERT_FALSE(again) << path;
    EXPECT_EQ(again.error().kind, ErrorKind::corrupt) << again.error().cause;
    std::filesystem::rename(aside, path);
  }
  EXPECT_THAT(extract_recorded(good_wheel()), Succeeds());
}

TEST_F(WheelArchive, IsRefusedWhenAMemberLeadsOut) {
  Members members = good_wheel();
  members["../evil"] = "";
  const auto home = extract_recorded(members);
  ASSERT_FALSE(home);
  EXPECT_EQ(home.error().kind, ErrorKind::refused);
}

TEST_F(WheelArchive, IsRefusedWhenItIsNoZip) {
  const std::string path = directory_ / "w-1.0-py3-none-any.whl";
  write_file(path, "PK no");
  const auto home = extract_wheel_into_cache(path, cache_, std::string(64, '0'));
  ASSERT_FALSE(home);
  EXPECT_EQ(home.error().kind, ErrorKind::corrupt);
}

}  // namespace
}  // namespace pinstep
