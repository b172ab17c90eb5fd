#include "launcher/worker/reducer/shards.h"

#include <algorithm>
#include <array>

#include "launcher/worker/device/kernels.h"
#include "launcher/worker/try.h"

namespace pinstep::worker {

ShardSum::ShardSum(Device& device, Transport& transport, Array gradients, std::uint32_t shards, Stream stream)
    : device_(&device),
      transport_(&transport),
      gradients_(gradients),
      shards_(shards),
      mine_(shards / transport.size()),
      piece_((gradients.count + transport.size() - 1) / transport.size()),
      stream_(stream) {}

Result<ShardSum> ShardSum::create(Device& device, Transport& transport, Array gradients, std::uint32_t shards,
                                  Stream stream) {
  ShardSum sum(device, transport, gradients, shards, stream);
  if (auto done = sum.allocate(); !done) return tl::unexpected(done.error());
  return sum;
}

Result<void> ShardSum::allocate() {
  const auto make = [this](Memory& memory, std::size_t count) -> Result<void> {
    auto made = Memory::allocate(*device_, count, gradients_.type);
    if (!made) return tl::unexpected(made.error());
    memory = std::move(*made);
    return {};
  };
  kept_.resize(mine_);
  for (Memory& memory : kept_) PINSTEP_TRY(make(memory, gradients_.count));
  PINSTEP_TRY(make(received_, piece_ * shards_));
  return make(sum_, piece_ * transport_->size());
}

Result<void> ShardSum::keep(std::uint32_t shard) {
  return device_->copy(stream_, kept_[shard].array().data, gradients_.data, gradients_.bytes(),
                       Direction::on_device);
}

Array ShardSum::piece_of(Array gradients, std::uint32_t rank) const {
  const std::size_t first = std::min(rank * piece_, gradients.count);
  return gradients.part(first, std::min(piece_, gradients.count - first));
}

Array ShardSum::received(std::uint32_t shard) const {
  return received_.array().part(shard * piece_, piece_of(gradients_, transport_->rank()).count);
}

Result<void> ShardSum::finish() {
  PINSTEP_TRY(exchange());
  PINSTEP_TRY(add_up());
  return device_->copy(stream_, gradients_.data, sum_.array().data, gradients_.bytes(), Direction::on_device);
}

Result<void> ShardSum::exchange() {
  const std::uint32_t rank = transport_->rank();
  PINSTEP_TRY(transport_->begin_group());
  for (std::uint32_t peer = 0; peer < transport_->size(); ++peer)
    for (std::uint32_t shard = 0; shard < mine_; ++shard) {
      const Array from = piece_of(kept_[shard].array(), peer), to = received(peer * mine_ + shard);
      if (peer == rank) {
        PINSTEP_TRY(device_->copy(stream_, to.data, from.data, from.bytes(), Direction::on_device));
      } else {
        if (from.count > 0) PINSTEP_TRY(transport_->send(from, peer, stream_));
        if (to.count > 0) PINSTEP_TRY(transport_->receive(to, peer, stream_));
      }
    }
  return transport_->end_group();
}

Result<void> ShardSum::add_up() {
  const Array first = received(0);
  for (std::uint32_t shard = 1; shard < shards_; ++shard) {
    const std::array<Argument, 2> arguments{Update{first}, Read{received(shard)}};
    PINSTEP_TRY(device_->launch(stream_, kernel::kAdd, first.count, arguments));
  }
  return transport_->all_gather(received_.array().part(0, piece_), sum_.array(), stream_);
}

}  // namespace pinstep::worker
