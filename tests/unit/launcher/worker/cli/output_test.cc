#include "launcher/worker/cli/output.h"

#include <gtest/gtest.h>

namespace pinstep::worker {
namespace {

TEST(Output, AnErrorForPeopleAndForPrograms) {
  const Ending ending{Outcome::peer_lost, {ErrorKind::network, "rank 1 is gone", "look there"}, {1}, true};
  EXPECT_EQ(lines_of(ending, Form::text),
            "pinstep-worker: error: rank 1 is gone\n"
            "pinstep-worker: hint: look there\n");
  EXPECT_EQ(lines_of(ending, Form::json),
            R"({"event":"error","kind":"network","cause":"rank 1 is gone","hint":"look there","ranks":[1]})"
            "\n");
}

}  // namespace
}  // namespace pinstep::worker
