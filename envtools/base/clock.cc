#include "envtools/base/clock.h"

#include <ctime>

namespace pinstep {

Clock::Milliseconds SystemClock::now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return Milliseconds(time.tv_sec * 1000LL + time.tv_nsec / 1'000'000);
}

void SystemClock::sleep(Milliseconds duration) {
  const timespec time{static_cast<time_t>(duration.count() / 1000),
                      static_cast<long>(duration.count() % 1000) * 1'000'000};
  nanosleep(&time, nullptr);
}

}  // namespace pinstep
