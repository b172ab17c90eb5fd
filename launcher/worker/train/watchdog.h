// A thread that tells rank 0 how far this rank is, hears from it whether another rank has failed, and ends what
// waits for that one.
//
// Every 200 ms the number of the last collective goes to the store; the answer says whether all is well. When
// it does not, or no answer comes, the watchdog calls `abort`, so that nobody waits for his own deadline. If
// the rank's own thread does not come back from wherever it is within three seconds after that, it hangs, and
// `hangs` is called to end the process.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "launcher/worker/store/tcp_store.h"

namespace pinstep::worker {

class Watchdog {
 public:
  struct Calls {
    std::function<std::uint64_t()> reached;  // number of the last collective
    std::function<void()> abort;
    std::function<void()> hangs;
  };

  // `answer_time`: for the store. It must live longer.
  Watchdog(TcpStore& store, Milliseconds answer_time, Calls calls);
  ~Watchdog();

  // The rank's own thread looks after itself from here on.
  void stop();

 private:
  void run();
  // Waits; false where it is over.
  bool wait(std::unique_lock<std::mutex>& lock, Milliseconds time);

  TcpStore& store_;
  const Milliseconds answer_time_;
  const Calls calls_;
  std::mutex mutex_;  // guards is_over_
  std::condition_variable changed_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace pinstep::worker
