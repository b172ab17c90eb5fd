// Time as something handed in, so that waiting code can be tested without waiting.
#pragma once

#include <chrono>

namespace pinstep {

class Clock {
 public:
  using Milliseconds = std::chrono::milliseconds;

  virtual ~Clock() = default;
  // Time since some fixed moment; never goes back.
  virtual Milliseconds now() = 0;
  virtual void sleep(Milliseconds duration) = 0;
};

class SystemClock final : public Clock {
 public:
  Milliseconds now() override;
  void sleep(Milliseconds duration) override;
};

}  // namespace pinstep
