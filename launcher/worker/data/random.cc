#include "launcher/worker/data/random.h"

#include <numeric>
#include <utility>

namespace pinstep::worker {
namespace {

std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15U;

}  // namespace

CounterRandom::CounterRandom(std::uint64_t seed, std::uint64_t part)
    : state_(mixed(mixed(seed + kStep) + part)) {}

std::uint64_t CounterRandom::next() { return mixed(state_ += kStep); }

std::uint64_t CounterRandom::below(std::uint64_t bound) {
  // The largest numbers would make small results likelier: they are drawn again.
  const std::uint64_t surplus = (0 - bound) % bound;
  std::uint64_t drawn = next();
  while (drawn < surplus) drawn = next();
  return drawn % bound;
}

float CounterRandom::uniform() { return static_cast<float>(next() >> 40) * 0x1p-24F; }

std::vector<std::uint32_t> permutation(std::uint32_t count, std::uint64_t seed, std::uint64_t epoch) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  CounterRandom random(seed, epoch);
  for (std::uint32_t left = count; left > 1; --left) std::swap(order[left - 1], order[random.below(left)]);
  return order;
}

}  // namespace pinstep::worker
