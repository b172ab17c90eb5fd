// Ranks that are threads of one process: for tests, and for a rank that is alone.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "launcher/worker/transport/transport.h"

namespace pinstep::worker {

// What the ranks share. They meet at one operation after the other; what an operation does is done by one of
// them, in the order of ranks, while the others wait.
class ThreadGroup {
 public:
  ThreadGroup(std::uint32_t size, std::chrono::milliseconds deadline);

  std::uint32_t size() const { return static_cast<std::uint32_t>(offers_.size()); }

  struct Offer {
    const char* operation = nullptr;
    Array mine;
    Array result;  // where this rank wants it
    std::uint32_t root = 0;
    Reduction reduction = Reduction::sum;
  };
  // Returns when all ranks have made their offer and `act` has been applied to all of them.
  Result<void> meet(std::uint32_t rank, const Offer& offer, Result<void> (*act)(std::vector<Offer>& offers));
  // From one rank to another: the sender posts arrays and finishes when the receiver has taken all of them.
  Result<void> post(std::uint32_t from, std::uint32_t to, Array array);
  Result<void> take(std::uint32_t from, std::uint32_t to, Array array);
  Result<void> finish(std::uint32_t from, std::uint32_t to);

  void abort(std::uint32_t rank) noexcept;
  Result<void> state();

 private:
  struct Box {  // from one rank to another
    std::deque<Array> posted;
    std::uint64_t sent = 0, taken = 0;
  };

  Box& box(std::uint32_t from, std::uint32_t to) { return boxes_[from * size() + to]; }
  // Waits under mutex_; false when the deadline or an abort came first, and then error_ says so.
  template <class Condition>
  bool wait(std::unique_lock<std::mutex>& lock, const char* operation, Condition condition);

  const std::chrono::milliseconds deadline_;
  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::vector<Offer> offers_;
  std::vector<Box> boxes_;
  std::uint32_t arrived_ = 0;
  std::uint64_t round_ = 0;
  Result<void> outcome_;
  Result<void> error_;
};

class ThreadTransport final : public Transport {
 public:
  ThreadTransport(std::shared_ptr<ThreadGroup> group, std::uint32_t rank, Device& device)
      : group_(std::move(group)), rank_(rank), device_(device) {}

  std::uint32_t rank() const override { return rank_; }
  std::uint32_t size() const override { return group_->size(); }
  Result<void> all_reduce(Array data, Reduction reduction, Stream stream) override;
  Result<void> broadcast(Array data, std::uint32_t root, Stream stream) override;
  Result<void> all_gather(Array mine, Array all, Stream stream) override;
  Result<void> send(Array data, std::uint32_t to, Stream stream) override;
  Result<void> receive(Array data, std::uint32_t from, Stream stream) override;
  Result<void> begin_group() override;
  Result<void> end_group() override;
  void abort() noexcept override { group_->abort(rank_); }
  Result<void> poll() override { return group_->state(); }

 private:
  struct Noted {
    Array array;
    std::uint32_t peer;
    bool is_send;
  };
  Result<void> exchange(Noted noted, Stream stream);
  Result<void> meet(const ThreadGroup::Offer& offer, Stream stream,
                    Result<void> (*act)(std::vector<ThreadGroup::Offer>&));

  std::shared_ptr<ThreadGroup> group_;
  const std::uint32_t rank_;
  Device& device_;
  bool is_in_group_ = false;
  std::vector<Noted> noted_;
};

}  // namespace pinstep::worker
