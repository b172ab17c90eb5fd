// The error value of every library function in pinstep.
//
// A function that can fail returns Result<T>; it does not log, print or exit. Text for people is made
// at the edge (a verb's main, the plugin's task), from the cause and the hint kept here.
//
// A cause names its subject in single quotes, starts in lower case and has no full stop; a hint says
// what to do next and may be empty.
#pragma once

#include <cerrno>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace pinstep {

// Few categories, so that a caller can branch on them. The first group follows from what the user and
// Slurm say and is the same on every node of a step; the second comes from one node's files, ports or
// devices (design: "step errors" and "node errors").
enum class ErrorKind {
  usage,          // the command line is wrong
  invalid,        // a value given by the user, or handed on by us, cannot be understood
  conflict,       // two given values contradict each other
  unsatisfiable,  // no set of packages fits the spec
  // ---- from here on: this node's own state
  not_found,    // a file or host name that should be there is not
  corrupt,      // a file is there and its content is wrong
  unsupported,  // a file was written by a newer pinstep
  refused,      // permission, ownership or policy forbids it
  busy,         // a port is taken
  timed_out,    // an operation did not end in its time
  network,      // a server cannot be reached or does not answer as it should
  no_space,     // a disk or quota is full
  os,           // the operating system says no; the cause has its words
};

constexpr bool is_node_error(ErrorKind kind) { return kind >= ErrorKind::not_found; }

// The name used in --json output and in tests: "not_found".
std::string_view to_string(ErrorKind kind);
std::optional<ErrorKind> parse_error_kind(std::string_view name);

struct Error {
  ErrorKind kind;
  std::string cause;
  std::string hint;
};

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(ErrorKind kind, std::string cause, std::string hint = {}) {
  return tl::unexpected<Error>(Error{kind, std::move(cause), std::move(hint)});
}

// An errno as an error: "cannot open '/x': No such file or directory". ENOENT and ENOTDIR become
// not_found, EACCES, EPERM and ELOOP refused, EADDRINUSE busy, ENOSPC and EDQUOT no_space, everything else os.
tl::unexpected<Error> fail_errno(int error_number, std::string_view action, std::string_view subject,
                                 std::string hint = {});

// "cause (hint)" on one line without a newline; what a step prints, where a second line would be noise
// from hundreds of nodes.
std::string one_line(const Error& error);

}  // namespace pinstep
