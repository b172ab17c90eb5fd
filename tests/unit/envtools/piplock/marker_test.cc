#include "envtools/piplock/marker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

MarkerEnvironment here() {
  MarkerEnvironment environment = linux_markers("3.12.4", "x86_64");
  environment.extras = {"socks"};
  environment.groups = {"test"};
  return environment;
}

TEST(MarkerHolds, AsPep508Says) {
  const std::pair<const char*, bool> cases[] = {
      {"python_version >= '3.9'", true},
      {"python_version < \"3.9\"", false},
      {"'3.9' <= python_version", true},
      {"python_version == '3.12.*'", true},
      {"python_full_version == '3.12.*' and python_full_version != '3.12.5'", true},
      {"python_full_version ~= '3.12.1'", true},
      {"python_full_version ~= '3.13.0'", false},
      {"python_version > '3.9'", true},  // as versions, not as texts
      {"sys_platform == 'win32' or (os_name == 'posix' and platform_machine == 'x86_64')", true},
      {"sys_platform == 'win32' or os_name == 'posix' and platform_machine == 'arm64'", false},
      {"(sys_platform == 'linux' or os_name == 'nt') and platform_machine == 'arm64'", false},
      {"sys_platform in 'linux darwin'", true},
      {"sys_platform not in 'linux darwin'", false},
      {"extra == 'socks'", true},
      {"extra == 'dev'", false},
      {"extra != 'dev'", true},
      {"'socks' in extras", true},
      {"'test' in dependency_groups and 'dev' not in dependency_groups", true},
      {"platform_python_implementation == 'CPython' and implementation_name != 'pypy'", true},
      {"  platform_system=='Linux'  ", true},
  };
  for (const auto& [marker, wanted] : cases) {
    const auto holds = marker_holds(marker, here());
    ASSERT_TRUE(holds) << marker << ": " << holds.error().cause;
    EXPECT_EQ(*holds, wanted) << marker;
  }
}

TEST(MarkerHolds, SaysWhatIsNoMarker) {
  for (const char* marker :
       {"", "python_version", "python_version >=", "python_version >= '3.9' and", "python_version >= '3.9",
        "(python_version >= '3.9'", "what == 'x'", "os_name = 'posix'", "os_name == 'posix' os_name == 'posix'",
        "extra > 'x'", "os_name notin 'x'"}) {
    const auto holds = marker_holds(marker, here());
    ASSERT_FALSE(holds) << marker;
    EXPECT_EQ(holds.error().kind, ErrorKind::invalid);
  }
  EXPECT_FALSE(marker_holds(std::string(100000, '('), here()));
}

TEST(FitsSpecifiers, AsPep440Says) {
  struct Case {
    const char *version, *specifiers;
    bool fits;
  };
  for (const Case& c :
       {Case{"3.12.4", ">=3.9", true}, Case{"3.12.4", ">=3.9,<3.12", false}, Case{"3.12.4", "==3.12.*", true},
        Case{"3.12", "==3.12.0", true}, Case{"3.12.4", "!=3.12.*", false}, Case{"3.12.4", "~=3.9", true},
        Case{"4.0", "~=3.9", false}, Case{"3.12.4", "", true}, Case{"3.12.4", " >= 3.9 , < 4 ", true},
        Case{"3.12.4", "===3.12.4", true}}) {
    const auto fits = fits_specifiers(c.version, c.specifiers);
    ASSERT_TRUE(fits) << c.specifiers;
    EXPECT_EQ(*fits, c.fits) << c.version << " " << c.specifiers;
  }
  for (const char* specifiers : {"3.9", "=3.9", ">=x", ">="}) EXPECT_FALSE(fits_specifiers("3.12", specifiers));
}

}  // namespace
}  // namespace pinstep
