#include "envtools/base/error.h"

#include <array>
#include <cstring>

#include "envtools/base/text.h"

namespace pinstep {
namespace {

ErrorKind kind_of_errno(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      return ErrorKind::not_found;
    case EACCES:
    case EPERM:
    case ELOOP:
      return ErrorKind::refused;
    case EADDRINUSE:
      return ErrorKind::busy;
    case ENOSPC:
    case EDQUOT:
      return ErrorKind::no_space;
    default:
      return ErrorKind::os;
  }
}

// In the order of ErrorKind.
constexpr std::array<std::string_view, 13> kNames{
    "usage",   "invalid", "conflict",  "unsatisfiable", "not_found", "corrupt", "unsupported",
    "refused", "busy",    "timed_out", "network",       "no_space",  "os",
};
static_assert(kNames.size() == static_cast<std::size_t>(ErrorKind::os) + 1);

constexpr std::size_t kShownSubject = 1024;  // bytes

}  // namespace

std::string_view to_string(ErrorKind kind) { return kNames[static_cast<std::size_t>(kind)]; }

std::optional<ErrorKind> parse_error_kind(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<ErrorKind>(i);
  return std::nullopt;
}

tl::unexpected<Error> fail_errno(int error_number, std::string_view action, std::string_view subject,
                                 std::string hint) {
  std::string cause = "cannot ";
  cause += action;
  cause += " '";
  cause += subject.substr(0, kShownSubject);  // what is too long must not hide that it is
  if (subject.size() > kShownSubject) cause += "…";
  cause += "': ";
  cause += std::strerror(error_number);
  return fail(kind_of_errno(error_number), std::move(cause), std::move(hint));
}

std::string one_line(const Error& error) {
  return printable(error.hint.empty() ? error.cause : error.cause + " (" + error.hint + ")");
}

}  // namespace pinstep
