#include "envtools/base/error.h"

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
    default:
      return ErrorKind::os;
  }
}

}  // namespace

std::string_view to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage:
      return "usage";
    case ErrorKind::invalid:
      return "invalid";
    case ErrorKind::conflict:
      return "conflict";
    case ErrorKind::not_found:
      return "not_found";
    case ErrorKind::corrupt:
      return "corrupt";
    case ErrorKind::unsupported:
      return "unsupported";
    case ErrorKind::refused:
      return "refused";
    case ErrorKind::busy:
      return "busy";
    case ErrorKind::timed_out:
      return "timed_out";
    case ErrorKind::os:
      return "os";
  }
  return "os";
}

tl::unexpected<Error> fail_errno(int error_number, std::string_view action, std::string_view subject,
                                 std::string hint) {
  std::string cause = "cannot ";
  cause += action;
  cause += " '";
  cause += subject;
  cause += "': ";
  cause += std::strerror(error_number);
  return fail(kind_of_errno(error_number), std::move(cause), std::move(hint));
}

std::string one_line(const Error& error) {
  return printable(error.hint.empty() ? error.cause : error.cause + " (" + error.hint + ")");
}

}  // namespace pinstep
