#include "envtools/base/error.h"

#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing_support::FailsWith;

Result<int> from_errno(int number, std::string hint = {}) {
  return fail_errno(number, "open", "/x y", std::move(hint));
}

TEST(FailErrno, NamesActionSubjectAndTheSystemsWords) {
  EXPECT_THAT(from_errno(ENOENT),
              FailsWith(ErrorKind::not_found, "cannot open '/x y': No such file or directory"));
  EXPECT_THAT(from_errno(EIO, "try again"),
              FailsWith(ErrorKind::os, "cannot open '/x y': Input/output error", "try again"));
}

TEST(FailErrno, MapsEachErrorNumberToItsKind) {
  struct Case {
    int number;
    ErrorKind kind;
  };
  for (const Case& c : {Case{ENOENT, ErrorKind::not_found}, Case{ENOTDIR, ErrorKind::not_found},
                        Case{EACCES, ErrorKind::refused}, Case{EPERM, ErrorKind::refused},
                        Case{ELOOP, ErrorKind::refused}, Case{EADDRINUSE, ErrorKind::busy},
                        Case{EIO, ErrorKind::os}, Case{ESTALE, ErrorKind::os}, Case{ENOMEM, ErrorKind::os}})
    EXPECT_EQ(from_errno(c.number).error().kind, c.kind) << "errno " << c.number;
}

TEST(ErrorKind, TellsStepErrorsFromNodeErrors) {
  for (const ErrorKind kind : {ErrorKind::usage, ErrorKind::invalid, ErrorKind::conflict})
    EXPECT_FALSE(is_node_error(kind)) << to_string(kind);
  for (const ErrorKind kind : {ErrorKind::not_found, ErrorKind::corrupt, ErrorKind::unsupported,
                               ErrorKind::refused, ErrorKind::busy, ErrorKind::timed_out, ErrorKind::os})
    EXPECT_TRUE(is_node_error(kind)) << to_string(kind);
}

TEST(ErrorKind, HasANameOfItsOwn) {
  EXPECT_EQ(to_string(ErrorKind::usage), "usage");
  EXPECT_EQ(to_string(ErrorKind::invalid), "invalid");
  EXPECT_EQ(to_string(ErrorKind::conflict), "conflict");
  EXPECT_EQ(to_string(ErrorKind::not_found), "not_found");
  EXPECT_EQ(to_string(ErrorKind::corrupt), "corrupt");
  EXPECT_EQ(to_string(ErrorKind::unsupported), "unsupported");
  EXPECT_EQ(to_string(ErrorKind::refused), "refused");
  EXPECT_EQ(to_string(ErrorKind::busy), "busy");
  EXPECT_EQ(to_string(ErrorKind::timed_out), "timed_out");
  EXPECT_EQ(to_string(ErrorKind::os), "os");
}

TEST(OneLine, PutsTheHintInParenthesesAndKeepsControlCharactersOut) {
  EXPECT_EQ(one_line({ErrorKind::os, "it broke", ""}), "it broke");
  EXPECT_EQ(one_line({ErrorKind::os, "it broke", "mend it"}), "it broke (mend it)");
  EXPECT_EQ(one_line({ErrorKind::os, "'a\nb\x1b[31m\x7f'", "x\ty"}), "'a?b?[31m?' (x?y)");
  EXPECT_EQ(one_line({ErrorKind::os, "'ä'", ""}), "'ä'");
}

TEST(Error, OfAPathThatIsTooLongSaysSo) {
  const auto error = fail_errno(ENAMETOOLONG, "open", std::string(5000, 'x')).value();
  EXPECT_EQ(error.cause, "cannot open '" + std::string(1024, 'x') + "…': File name too long");
}

}  // namespace
}  // namespace pinstep
