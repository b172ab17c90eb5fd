// A set of small numbers (processing units, memory nodes, packages), as a bit set that grows as needed.
#pragma once

#include <bit>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pinstep {

class Bits {
 public:
  // Larger numbers are no processors of any machine; it bounds what a wrong text can make us allocate.
  static constexpr std::uint32_t kLimit = 1U << 16;

  Bits() = default;
  Bits(std::initializer_list<std::uint32_t> numbers) {
    for (const std::uint32_t number : numbers) add(number);
  }

  // "0-3,8" as Linux writes it; "" is the empty set. Nothing for another text.
  static std::optional<Bits> parse(std::string_view list);
  // "0xff,0x0000ff00" or "ff": hexadecimal words, the last one holding 0 to 31. Slurm's and the kernel's masks.
  static std::optional<Bits> parse_mask(std::string_view mask);
  std::string text() const;

  void add(std::uint32_t number);
  void add(const Bits& other);
  void keep(const Bits& other);
  bool has(std::uint32_t number) const {
    return number / 64 < words_.size() && (words_[number / 64] >> (number % 64) & 1) != 0;
  }
  bool empty() const { return words_.empty(); }
  std::size_t count() const;
  bool meets(const Bits& other) const;
  bool is_within(const Bits& other) const;
  std::vector<std::uint32_t> numbers() const;
  std::optional<std::uint32_t> only() const;  // the number of a set that has one

  bool operator==(const Bits&) const = default;

 private:
  void trim();

  std::vector<std::uint64_t> words_;  // without zero words at the end
};

}  // namespace pinstep
