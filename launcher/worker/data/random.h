// Random numbers that depend on a key and a position and on nothing else: the same on every machine, with
// every library, for every number of ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pinstep::worker {

// splitmix64 (Steele, Lea, Flood 2014): a counter, well mixed.
class CounterRandom {
 public:
  // Two keys that differ in one part give streams that have nothing to do with each other.
  CounterRandom(std::uint64_t seed, std::uint64_t part);

  std::uint64_t next();
  std::uint64_t below(std::uint64_t bound);  // 0 to bound - 1, all equally likely; bound > 0
  float uniform();                           // from 0 up to, not including, 1, in steps of 2^-24

 private:
  std::uint64_t state_;
};

// 0 to count - 1 in the order that this seed and epoch have.
std::vector<std::uint32_t> permutation(std::uint32_t count, std::uint64_t seed, std::uint64_t epoch);

}  // namespace pinstep::worker
