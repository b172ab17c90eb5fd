#include "launcher/bind/bind.h"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

TEST(Bind, ToOneOfTheProcessorsThereAre) {
  const Bits before = affinity();
  ASSERT_FALSE(before.empty());
  const Bits one{before.numbers().back()};
  ASSERT_TRUE(bind_to(one));
  EXPECT_EQ(affinity(), one);
  ASSERT_TRUE(bind_to(before));
  EXPECT_EQ(affinity(), before);
}

TEST(Bind, ToNoneOfThemFails) {
  const auto bound = bind_to(Bits{8191});
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().kind, ErrorKind::os);
  EXPECT_FALSE(bind_to({}));
}

TEST(Bind, ToAMemoryNodeThatCannotBeFails) {
  for (const MemoryPolicy policy : {MemoryPolicy::preferred, MemoryPolicy::bind}) {
    EXPECT_FALSE(take_memory_of(5000, policy));
    EXPECT_FALSE(take_memory_of(1023, policy)) << to_string(policy);
  }
  EXPECT_TRUE(take_memory_of(5000, MemoryPolicy::none));
}

// The kernel's word for it; in a child, since it would hold for the other tests too.
std::string policy_in_a_child(MemoryPolicy policy) {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  if (::fork() == 0) {
    int mode = -1;
    const bool taken = take_memory_of(0, policy).has_value();
    ::syscall(SYS_get_mempolicy, &mode, nullptr, 0, nullptr, 0);
    const char text = static_cast<char>(taken ? '0' + mode : 'x');
    ::_exit(::write(ends[1], &text, 1) == 1 ? 0 : 1);
  }
  ::close(ends[1]);
  char text = '?';
  const bool got = ::read(ends[0], &text, 1) == 1;
  ::close(ends[0]);
  int status = 0;
  ::wait(&status);
  return got ? std::string(1, text) : "nothing";
}

TEST(Bind, MemoryIsTakenByThePolicy) {
  EXPECT_EQ(policy_in_a_child(MemoryPolicy::preferred), "1");
  EXPECT_EQ(policy_in_a_child(MemoryPolicy::bind), "2");
  EXPECT_EQ(policy_in_a_child(MemoryPolicy::none), "0");
}

TEST(Bind, PoliciesAreReadAsTheyAreWritten) {
  for (const MemoryPolicy policy : {MemoryPolicy::preferred, MemoryPolicy::bind, MemoryPolicy::none})
    EXPECT_EQ(parse_memory_policy(to_string(policy)), policy);
  EXPECT_FALSE(parse_memory_policy("local"));
}

}  // namespace
}  // namespace pinstep
