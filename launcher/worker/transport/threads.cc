#include "launcher/worker/transport/threads.h"

#include <cstring>
#include <string>

#include "launcher/worker/transport/reduce.h"

namespace pinstep::worker {
namespace {

using Offers = std::vector<ThreadGroup::Offer>;

void copy(Array to, Array from) {
  if (to.data != from.data && from.count > 0) std::memcpy(to.data, from.data, from.bytes());
}

bool agree(const Offers& offers) {
  for (const auto& offer : offers)
    if (offer.mine.count != offers[0].mine.count || offer.mine.type != offers[0].mine.type ||
        std::strcmp(offer.operation, offers[0].operation) != 0)
      return false;
  return true;
}

// In the order of ranks, so that the sum is the same in every run.
Result<void> reduce_all(Offers& offers) {
  for (std::size_t rank = 1; rank < offers.size(); ++rank)
    if (auto done = reduce_into(offers[0].mine, offers[rank].mine, offers[0].reduction); !done) return done;
  for (auto& offer : offers) copy(offer.mine, offers[0].mine);
  return {};
}

Result<void> broadcast_all(Offers& offers) {
  for (auto& offer : offers) copy(offer.mine, offers[offers[0].root].mine);
  return {};
}

Result<void> gather_all(Offers& offers) {
  for (auto& offer : offers)
    for (std::size_t rank = 0; rank < offers.size(); ++rank)
      copy(offer.result.part(rank * offer.mine.count, offer.mine.count), offers[rank].mine);
  return {};
}

}  // namespace

ThreadGroup::ThreadGroup(std::uint32_t size, std::chrono::milliseconds deadline)
    : deadline_(deadline), offers_(size), boxes_(std::size_t{size} * size) {}

template <class Condition>
bool ThreadGroup::wait(std::unique_lock<std::mutex>& lock, const char* operation, Condition condition) {
  changed_.wait_for(lock, deadline_, [&] { return condition() || !error_; });
  // What was done before somebody gave up is done.
  if (condition()) return true;
  if (error_)
    error_ = fail(ErrorKind::timed_out,
                  std::string(operation) + " did not end within " + std::to_string(deadline_.count()) + " ms");
  changed_.notify_all();
  return false;
}

Result<void> ThreadGroup::meet(std::uint32_t rank, const Offer& offer, Result<void> (*act)(Offers& offers)) {
  std::unique_lock lock(mutex_);
  if (!error_) return error_;
  offers_[rank] = offer;
  if (++arrived_ == size()) {
    outcome_ = agree(offers_) ? act(offers_) : fail(ErrorKind::invalid, "ranks that call different operations");
    arrived_ = 0;
    ++round_;
    changed_.notify_all();
    return outcome_;
  }
  // The outcome stays until all ranks have made their next offer, which this one has not.
  return wait(lock, offer.operation, [this, mine = round_] { return round_ != mine; }) ? outcome_ : error_;
}

Result<void> ThreadGroup::post(std::uint32_t from, std::uint32_t to, Array array) {
  const std::lock_guard lock(mutex_);
  if (!error_) return error_;
  Box& box = this->box(from, to);
  box.posted.push_back(array);
  ++box.sent;
  changed_.notify_all();
  return {};
}

Result<void> ThreadGroup::take(std::uint32_t from, std::uint32_t to, Array array) {
  std::unique_lock lock(mutex_);
  Box& box = this->box(from, to);
  if (!wait(lock, "receive", [&] { return !box.posted.empty(); })) return error_;
  if (box.posted.front().bytes() != array.bytes())
    return fail(ErrorKind::invalid, "send and receive of different lengths");
  copy(array, box.posted.front());
  box.posted.pop_front();
  ++box.taken;
  changed_.notify_all();
  return {};
}

Result<void> ThreadGroup::finish(std::uint32_t from, std::uint32_t to) {
  std::unique_lock lock(mutex_);
  const Box& box = this->box(from, to);
  return wait(lock, "send", [&] { return box.taken == box.sent; }) ? Result<void>() : error_;
}

void ThreadGroup::abort(std::uint32_t rank) noexcept {
  const std::lock_guard lock(mutex_);
  if (error_) error_ = fail(ErrorKind::network, "rank " + std::to_string(rank) + " has given up");
  changed_.notify_all();
}

Result<void> ThreadGroup::state() {
  const std::lock_guard lock(mutex_);
  return error_;
}

Result<void> ThreadTransport::meet(const ThreadGroup::Offer& offer, Stream stream,
                                   Result<void> (*act)(Offers&)) {
  if (auto done = device_.synchronize(stream); !done) return done;
  return group_->meet(rank_, offer, act);
}

Result<void> ThreadTransport::all_reduce(Array data, Reduction reduction, Stream stream) {
  return meet({"all-reduce", data, data, 0, reduction}, stream, reduce_all);
}

Result<void> ThreadTransport::broadcast(Array data, std::uint32_t root, Stream stream) {
  if (root >= size()) return fail(ErrorKind::invalid, "no rank " + std::to_string(root));
  return meet({"broadcast", data, data, root, {}}, stream, broadcast_all);
}

Result<void> ThreadTransport::all_gather(Array mine, Array all, Stream stream) {
  if (all.type != mine.type || all.count < mine.count * size())
    return fail(ErrorKind::invalid, "an array too short for what all ranks have");
  return meet({"all-gather", mine, all, 0, {}}, stream, gather_all);
}

Result<void> ThreadTransport::send(Array data, std::uint32_t to, Stream stream) {
  return exchange({data, to, true}, stream);
}

Result<void> ThreadTransport::receive(Array data, std::uint32_t from, Stream stream) {
  return exchange({data, from, false}, stream);
}

Result<void> ThreadTransport::exchange(Noted noted, Stream stream) {
  if (noted.peer >= size()) return fail(ErrorKind::invalid, "no rank " + std::to_string(noted.peer));
  if (auto done = device_.synchronize(stream); !done) return done;
  noted_.push_back(noted);
  return is_in_group_ ? Result<void>() : end_group();
}

Result<void> ThreadTransport::begin_group() {
  is_in_group_ = true;
  return {};
}

Result<void> ThreadTransport::end_group() {
  is_in_group_ = false;
  const auto noted = std::exchange(noted_, {});
  Result<void> done;
  for (const Noted& one : noted)
    if (done && one.is_send) done = group_->post(rank_, one.peer, one.array);
  for (const Noted& one : noted)
    if (done && !one.is_send) done = group_->take(one.peer, rank_, one.array);
  for (const Noted& one : noted)
    if (done && one.is_send) done = group_->finish(rank_, one.peer);
  return done;
}

}  // namespace pinstep::worker
