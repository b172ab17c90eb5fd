// Single flight: of any number of processes on any nodes, one does a piece of work, the others wait for its
// result. Made by one exclusive rename, kept by a heart-beat; flock is never asked, since some cluster file
// systems only pretend to have it. A lease saves work and never guards a result: whoever loses one unawares
// (a machine that slept) finishes in a place of his own, and one of the two results is published.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "envtools/base/error.h"

namespace pinstep {

class Lease {
 public:
  ~Lease();  // gives it back
  Lease(Lease&&) noexcept;

  // Whether it is still ours; false after somebody took it for dead (a machine that slept).
  bool held() const;

 private:
  friend class LeaseTaker;
  struct State;
  explicit Lease(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

struct LeaseTimes {
  std::chrono::milliseconds beat{2000};
  std::chrono::milliseconds dead_after{30000};  // without a beat; judged by watching, not by comparing clocks
  std::chrono::milliseconds poll{200};
};

// Either takes the lease, or waits until `is_done` says that the work has been done by somebody, whichever is
// first: then the result holds no lease. `on_wait` is called once when waiting begins, with the holder's
// "host pid user". A holder on this host whose process is gone is dead at once.
// Errors: refused (also: the lease of a dead holder that may not be removed), no_space, os.
class LeaseTaker {
 public:
  static Result<std::unique_ptr<Lease>> take(const std::string& path, const LeaseTimes& times,
                                             const std::function<bool()>& is_done,
                                             const std::function<void(const std::string& holder)>& on_wait);
};

// Whether nobody has the lease, as far as can be told without watching it: it is free, or its holder was a
// process of this host that is gone.
bool is_abandoned(const std::string& path);

}  // namespace pinstep
