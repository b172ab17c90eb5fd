// Adds gradients up so that the number of ranks does not matter, bit by bit: a fixed number of virtual shards,
// of which each rank has equally many, is added up in their order.
//
// Each rank gets a piece of all shards' gradients, adds it up, and hands the sum to all. So a step costs
// (shards / ranks + 1) times the gradient on the network, and memory for all shards of the rank twice;
// nothing is overlapped. The price of equality: it is for comparing, not for speed.
#pragma once

#include <vector>

#include "launcher/worker/device/memory.h"
#include "launcher/worker/transport/transport.h"

namespace pinstep::worker {

class ShardSum {
 public:
  // `shards` of all ranks, a multiple of their number. Device and transport must live longer. Errors: no_space.
  static Result<ShardSum> create(Device& device, Transport& transport, Array gradients, std::uint32_t shards,
                                 Stream stream);

  // The gradients are those of this one of the rank's shards.
  Result<void> keep(std::uint32_t shard);
  // Puts the sum of all ranks' shards where the gradients are. Errors: those of the transport.
  Result<void> finish();

 private:
  ShardSum(Device& device, Transport& transport, Array gradients, std::uint32_t shards, Stream stream);
  Result<void> allocate();
  // Of every shard's gradients, what this rank adds up.
  Array piece_of(Array gradients, std::uint32_t rank) const;
  Array received(std::uint32_t shard) const;
  Result<void> exchange();
  Result<void> add_up();

  Device* device_;
  Transport* transport_;
  Array gradients_;
  std::uint32_t shards_;  // of all ranks
  std::uint32_t mine_;    // of each rank
  std::size_t piece_;     // elements; the last rank's piece may be shorter
  Stream stream_;
  std::vector<Memory> kept_;  // by shard of this rank
  Memory received_;           // this rank's piece, by shard of all
  Memory sum_;                // all pieces
};

}  // namespace pinstep::worker
