#include "launcher/worker/reducer/reducer.h"

#include <utility>

namespace pinstep::worker {

Reducer::Reducer(Device& device, Transport& transport, Array gradients, std::vector<Bucket> buckets,
                 Stream compute)
    : device_(device),
      transport_(transport),
      gradients_(gradients),
      buckets_(std::move(buckets)),
      compute_(compute) {}

Result<std::unique_ptr<Reducer>> Reducer::create(Device& device, Transport& transport, Array gradients,
                                                 std::vector<Bucket> buckets, Stream compute) {
  std::unique_ptr<Reducer> reducer(new Reducer(device, transport, gradients, std::move(buckets), compute));
  auto stream = device.create_stream();
  if (!stream) return tl::unexpected(stream.error());
  reducer->communication_ = *stream;
  // One more than buckets: the last is added_up_.
  for (std::size_t i = 0; i <= reducer->buckets_.size(); ++i) {
    auto event = device.create_event();
    if (!event) return tl::unexpected(event.error());
    reducer->filled_.push_back(*event);
  }
  reducer->added_up_ = reducer->filled_.back();
  reducer->thread_ = std::thread([self = reducer.get()] { self->work(); });
  return reducer;
}

Reducer::~Reducer() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  for (const Event event : filled_) device_.destroy(event);
  device_.destroy(communication_);
}

Result<void> Reducer::ready(std::size_t parameter) {
  if (parameter != ready_parameters_++)
    return fail(ErrorKind::invalid, "gradient " + std::to_string(parameter) + " is out of order");
  // filled_buckets_ is changed by this thread only.
  const Bucket& bucket = buckets_[filled_buckets_];
  if (parameter + 1 < bucket.first_parameter + bucket.parameters) return {};
  if (auto done = device_.record(filled_[filled_buckets_], compute_); !done) return done;
  const std::lock_guard lock(mutex_);
  ++filled_buckets_;
  changed_.notify_all();
  return {};
}

Result<void> Reducer::finish() {
  std::unique_lock lock(mutex_);
  if (filled_buckets_ != buckets_.size()) return fail(ErrorKind::invalid, "not all gradients are ready");
  changed_.wait(lock, [this] { return given_buckets_ == buckets_.size(); });
  ready_parameters_ = filled_buckets_ = given_buckets_ = 0;
  if (!outcome_) return outcome_;
  if (auto done = device_.record(added_up_, communication_); !done) return done;
  return device_.wait(compute_, added_up_);
}

void Reducer::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_ending_ || given_buckets_ < filled_buckets_; });
    if (is_ending_) return;
    const std::size_t bucket = given_buckets_;
    const bool is_well = outcome_.has_value();
    lock.unlock();
    Result<void> done = is_well ? reduce(bucket) : Result<void>();
    lock.lock();
    if (!done) outcome_ = std::move(done);
    ++given_buckets_;
    changed_.notify_all();
  }
}

Result<void> Reducer::reduce(std::size_t bucket) {
  if (auto done = device_.wait(communication_, filled_[bucket]); !done) return done;
  const Array part = gradients_.part(buckets_[bucket].offset, buckets_[bucket].count);
#ifdef PINSTEP_WITHOUT_ALL_REDUCE  // a test must notice
  (void)part;
  return {};
#else
  return transport_.all_reduce(part, Reduction::sum, communication_);
#endif
}

}  // namespace pinstep::worker
