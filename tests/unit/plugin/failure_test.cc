#include "plugin/failure.h"

#include <sys/wait.h>
#include <unistd.h>

#include "envtools/base/fd.h"
#include "tests/unit/support/child.h"
#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing_support::ChildEnd;
using testing_support::in_child;

TEST(Deadline, IsOverWithItsScope) {
  const ChildEnd end = in_child([] {
    {
      const Deadline deadline(std::chrono::seconds(600), [] { ::_exit(1); });
    }
    return ::alarm(0) == 0 ? 0 : 2;  // nothing is left that could end the program later
  });
  EXPECT_EQ(end.exit_code, 0);
}

TEST(Deadline, CallsWhileTheTaskIsStuck) {
  const ChildEnd end = in_child([] {
    const Deadline deadline(std::chrono::seconds(0), [] {
      write_message(STDOUT_FILENO, "too slow");
      ::_exit(kOwnFailure);
    });
    for (;;) ::pause();
    return 0;
  });
  EXPECT_EQ(end.exit_code, 125);
  EXPECT_EQ(end.output, "too slow");
}

}  // namespace
}  // namespace pinstep
