// A clock that stands still until somebody sleeps.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "envtools/base/clock.h"

namespace pinstep::testing_support {

class FakeClock final : public Clock {
 public:
  Milliseconds now() override { return now_; }
  void sleep(Milliseconds duration) override {
    slept.push_back(duration);
    now_ += duration;
    if (on_sleep) on_sleep(now_);
  }

  Milliseconds total() const {
    Milliseconds sum{0};
    for (const Milliseconds duration : slept) sum += duration;
    return sum;
  }

  std::vector<Milliseconds> slept;             // each call
  std::function<void(Milliseconds)> on_sleep;  // what the world does meanwhile; gets the time since 0

 private:
  Milliseconds now_{0};
};

}  // namespace pinstep::testing_support
