#include "envtools/solver/cutoff.h"

#include <chrono>
#include <cstdio>
#include <optional>

#include "envtools/base/text.h"

namespace pinstep {
namespace {

// Digits only, as many as the shape has.
std::optional<unsigned> number(std::string_view text, std::size_t at, std::size_t digits) {
  return parse_number<unsigned>(text.substr(at, digits));
}

std::optional<std::chrono::sys_days> parse_day(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const auto year = number(text, 0, 4), month = number(text, 5, 2), day = number(text, 8, 2);
  if (!year || !month || !day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)), std::chrono::month(*month),
                                         std::chrono::day(*day)};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date);
}

bool is_time(std::string_view text) {
  if (text.size() != 9 || text[2] != ':' || text[5] != ':' || text[8] != 'Z') return false;
  const auto hour = number(text, 0, 2), minute = number(text, 3, 2), second = number(text, 6, 2);
  return hour && minute && second && *hour < 24 && *minute < 60 && *second < 60;
}

std::string midnight(std::chrono::sys_days day) {
  const std::chrono::year_month_day date(day);
  char text[32];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT00:00:00Z", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
  return text;
}

}  // namespace

Result<std::string> parse_cutoff(std::string_view text) {
  const auto day = parse_day(text.substr(0, 10));
  if (day && text.size() == 10) return midnight(*day + std::chrono::days(1));
  if (day && text[10] == 'T' && is_time(text.substr(11))) return std::string(text);
  return fail(ErrorKind::usage, "'" + printable(text) + "' is no date",
              "write 2026-03-31, or 2026-03-31T12:00:00Z");
}

}  // namespace pinstep
