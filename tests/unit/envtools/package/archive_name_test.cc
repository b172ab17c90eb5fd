#include "envtools/package/package.h"
#include "tests/unit/support/random.h"
#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing_support::FailsWith;
using testing_support::Random;
using testing_support::shown;

TEST(ParseArchiveName, SplitsAUrlOrFileFromTheRight) {
  struct Case {
    const char* input;
    const char* name;
    const char* version;
    const char* build;
    const char* extension;
  };
  for (const Case& c : {
           Case{"openssl-3.3.1-h4ab18f5_1.conda", "openssl", "3.3.1", "h4ab18f5_1", ".conda"},
           Case{"file:///c/linux-64/ld_impl_linux-64-2.40-hf3520f5_7.conda", "ld_impl_linux-64", "2.40",
                "hf3520f5_7", ".conda"},
           Case{"https://example.org/noarch/_libgcc_mutex-0.1-conda_forge.tar.bz2#0123", "_libgcc_mutex", "0.1",
                "conda_forge", ".tar.bz2"},
           Case{"https://example.org/t/x-1%211.0-0.conda?token=a/b-c", "x", "1!1.0", "0", ".conda"},
           Case{"x-1.0+cu121-0.conda", "x", "1.0+cu121", "0", ".conda"},
       }) {
    const auto parsed = parse_archive_name(c.input);
    ASSERT_TRUE(parsed) << shown(c.input);
    EXPECT_EQ(parsed->name, c.name);
    EXPECT_EQ(parsed->version, c.version);
    EXPECT_EQ(parsed->build, c.build);
    EXPECT_EQ(parsed->extension, c.extension);
    EXPECT_EQ(parsed->stem, parsed->name + "-" + parsed->version + "-" + parsed->build);
  }
}

TEST(ParseArchiveName, RefusesWhatCouldNotBeAPath) {
  for (const char* input : {"", "-", "--", "---.conda", "x.conda", "x-1.conda", "-1-0.conda", "x--0.conda",
                            "x-1-.conda", "x-1-0.zip", ".conda", "..-1-0.conda", "x-..-0.conda",
                            "a%2fb-1-0.conda", "x-1-%00.conda", "x y-1-0.conda", "https://example.org/"})
    EXPECT_FALSE(parse_archive_name(input)) << shown(input);
  EXPECT_THAT(parse_archive_name("a/b-1.conda"),
              FailsWith(ErrorKind::invalid, "'b-1.conda' has no version or no build",
                        "a conda package is called NAME-VERSION-BUILD.conda or .tar.bz2"));
}

TEST(ParseArchiveName, GivesPartsThatAreSafeForAnyInput) {
  Random random;
  for (int i = 0; i < 5000; ++i) {
    const std::string input = random.text("ab-./%2e0_!\\", 0, 20) + (random.one_in(2) ? ".conda" : ".tar.bz2");
    const auto parsed = parse_archive_name(input);
    if (!parsed) continue;
    for (const std::string* part : {&parsed->name, &parsed->version, &parsed->build, &parsed->stem}) {
      EXPECT_EQ(part->find_first_of("/\\%"), std::string::npos) << random << shown(input);
      EXPECT_NE(part->front(), '.') << random << shown(input);
    }
  }
}

}  // namespace
}  // namespace pinstep
