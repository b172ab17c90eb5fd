#include "envtools/solver/cutoff.h"

#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing_support::FailsWith;
using testing_support::Holds;

TEST(Cutoff, IsTheEndOfADayOrAnInstant) {
  const std::pair<const char*, const char*> cases[] = {
      {"2026-03-31", "2026-04-01T00:00:00Z"},           {"2024-02-28", "2024-02-29T00:00:00Z"},
      {"2023-02-28", "2023-03-01T00:00:00Z"},           {"2025-12-31", "2026-01-01T00:00:00Z"},
      {"2026-03-31T23:59:59Z", "2026-03-31T23:59:59Z"},
  };
  for (const auto& [text, instant] : cases) {
    EXPECT_THAT(parse_cutoff(text), Holds(std::string(instant)));
    EXPECT_THAT(parse_cutoff(instant), Holds(std::string(instant)));
  }
}

TEST(Cutoff, ThatIsNoneIsRefused) {
  for (const std::string text :
       {"", "2026", "2026-3-31", "2026-02-29", "2026-13-01", "2026-03-31 ", "2026-03-31T12:00Z", "20260331",
        "2026-03-31T24:00:00Z", "2026-03-31T12:00:00", "2026-03-31T12:00:00+02:00", "2026-+3-31", "none"})
    EXPECT_THAT(parse_cutoff(text), FailsWith(ErrorKind::usage, "'" + text + "' is no date",
                                              "write 2026-03-31, or 2026-03-31T12:00:00Z"));
}

}  // namespace
}  // namespace pinstep
