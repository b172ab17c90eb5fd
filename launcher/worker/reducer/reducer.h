// Adds gradients up over all ranks, bucket by bucket, while the backward pass goes on.
//
// A thread gives the buckets to the transport, on a stream of its own that waits for an event of the stream of
// the backward pass. So it does not matter whether the transport's operations return at once (a GPU's) or when
// they are done (Gloo's). All ranks start the buckets in the same order.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "launcher/worker/reducer/buckets.h"
#include "launcher/worker/transport/transport.h"

namespace pinstep::worker {

class Reducer {
 public:
  // `gradients` holds what the buckets say; `compute` is the stream that makes them. Device and transport must
  // live longer, and nobody else uses the transport between ready() and finish(). Errors: those of the device.
  static Result<std::unique_ptr<Reducer>> create(Device& device, Transport& transport, Array gradients,
                                                 std::vector<Bucket> buckets, Stream compute);
  ~Reducer();

  // The gradient of this parameter is given to the compute stream. Parameters become ready in their order.
  Result<void> ready(std::size_t parameter);
  // The compute stream goes on when all buckets are added up; begins anew. Errors: those of the transport.
  Result<void> finish();

  const std::vector<Bucket>& buckets() const { return buckets_; }

 private:
  Reducer(Device& device, Transport& transport, Array gradients, std::vector<Bucket> buckets, Stream compute);
  void work();
  Result<void> reduce(std::size_t bucket);

  Device& device_;
  Transport& transport_;
  const Array gradients_;
  const std::vector<Bucket> buckets_;
  const Stream compute_;
  Stream communication_;
  std::vector<Event> filled_;  // per bucket: its gradients are there
  Event added_up_;
  std::size_t ready_parameters_ = 0;

  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::size_t filled_buckets_ = 0;
  std::size_t given_buckets_ = 0;  // to the transport
  Result<void> outcome_;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace pinstep::worker
