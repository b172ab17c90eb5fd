// Made-up input for property tests. It is the same in every run, so that a failure can be seen again;
// PINSTEP_TEST_SEED=N asks for other input, and every failure prints the seed it was made from.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <ostream>
#include <random>
#include <string>
#include <string_view>

namespace pinstep::testing_support {

class Random {
 public:
  Random() : seed_(seed_from_environment()), engine_(seed_) {}

  // 0 to bound - 1. Not std::uniform_int_distribution: that gives other numbers with another library.
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(engine_() % bound); }
  std::size_t between(std::size_t least, std::size_t most) { return least + below(most - least + 1); }
  bool one_in(std::size_t n) { return below(n) == 0; }

  template <class Container>
  const auto& pick(const Container& container) {
    return container[below(std::size(container))];
  }

  std::string text(std::string_view alphabet, std::size_t least, std::size_t most) {
    std::string text(between(least, most), '\0');
    for (char& c : text) c = pick(alphabet);
    return text;
  }

  // Any bytes, NUL included; half of them printable so that what is made is not all noise.
  std::string bytes(std::size_t least, std::size_t most) {
    std::string text(between(least, most), '\0');
    for (char& c : text) c = static_cast<char>(one_in(2) ? between(0x20, 0x7e) : below(256));
    return text;
  }

  friend std::ostream& operator<<(std::ostream& out, const Random& random) {
    return out << "PINSTEP_TEST_SEED=" << random.seed_ << " ";
  }

 private:
  static std::uint64_t seed_from_environment() {
    const char* seed = std::getenv("PINSTEP_TEST_SEED");
    return seed == nullptr ? 1 : std::strtoull(seed, nullptr, 10);
  }

  std::uint64_t seed_;
  std::mt19937_64 engine_;
};

}  // namespace pinstep::testing_support
