#include "envtools/build/pool.h"

#include <gtest/gtest.h>

#include <atomic>

namespace pinstep {
namespace {

TEST(Pool, DoesEverythingThatItIsGiven) {
  std::atomic<int> done = 0;
  Pool pool(4);
  for (int i = 0; i < 100; ++i)
    pool.add([&]() -> Result<void> {
      ++done;
      return {};
    });
  EXPECT_TRUE(pool.finish());
  EXPECT_EQ(done, 100);
}

TEST(Pool, EndsWithTheFirstError) {
  std::atomic<int> done = 0;
  Pool pool(1);
  pool.add([&]() -> Result<void> { return fail(ErrorKind::corrupt, "first"); });
  for (int i = 0; i < 100; ++i)
    pool.add([&]() -> Result<void> {
      ++done;
      return fail(ErrorKind::os, "later");
    });
  const auto finished = pool.finish();
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().cause, "first");
  EXPECT_EQ(done, 0);
}

TEST(Pool, CanBeLeftBeforeItHasFinished) {
  std::atomic<int> done = 0;
  {
    Pool pool(2);
    for (int i = 0; i < 10; ++i)
      pool.add([&]() -> Result<void> {
        ++done;
        return {};
      });
  }
  EXPECT_LE(done, 10);
}

TEST(ThreadCount, IsWhatIsWantedElseTheCoresOfThisProcess) {
  EXPECT_EQ(thread_count(7), 7);
  EXPECT_GE(thread_count(0), 1);
}

TEST(Pool, EndsWithWhatATaskThrows) {
  Pool pool(2);
  pool.add([]() -> Result<void> { throw std::bad_alloc(); });
  const auto finished = pool.finish();
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().cause, "there is not enough memory");
}

}  // namespace
}  // namespace pinstep
