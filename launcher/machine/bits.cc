#include "launcher/machine/bits.h"

#include <algorithm>

#include "envtools/base/text.h"

namespace pinstep {

std::optional<Bits> Bits::parse(std::string_view list) {
  Bits bits;
  if (list.empty()) return bits;
  for (const std::string_view piece : split(list, ',')) {
    const auto ends = split_once(piece, '-');
    const auto first = parse_number<std::uint32_t>(ends ? ends->before : piece);
    const auto last = ends ? parse_number<std::uint32_t>(ends->after) : first;
    if (!first || !last || *last < *first || *last >= kLimit) return std::nullopt;
    for (std::uint32_t number = *first; number <= *last; ++number) bits.add(number);
  }
  return bits;
}

std::optional<Bits> Bits::parse_mask(std::string_view mask) {
  Bits bits;
  std::string digits;
  for (const std::string_view piece : split(mask, ',')) {
    std::string_view word = piece.starts_with("0x") ? piece.substr(2) : piece;
    if (digits.empty())
      digits = word;
    else if (word.size() > 8)
      return std::nullopt;
    else
      digits.append(8 - word.size(), '0').append(word);
  }
  if (digits.empty() || digits.size() * 4 > kLimit) return std::nullopt;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    unsigned value = 0;
    const char* digit = digits.data() + digits.size() - 1 - i;
    if (std::from_chars(digit, digit + 1, value, 16).ec != std::errc{}) return std::nullopt;
    for (std::uint32_t bit = 0; bit < 4; ++bit)
      if ((value >> bit & 1) != 0) bits.add(static_cast<std::uint32_t>(4 * i) + bit);
  }
  return bits;
}

std::string Bits::text() const {
  std::string text;
  const auto all = numbers();
  for (std::size_t i = 0; i < all.size();) {
    std::size_t end = i + 1;
    while (end < all.size() && all[end] == all[end - 1] + 1) ++end;
    if (!text.empty()) text += ',';
    text += std::to_string(all[i]);
    if (end - i > 1) text += '-' + std::to_string(all[end - 1]);
    i = end;
  }
  return text;
}

void Bits::add(std::uint32_t number) {
  if (number >= kLimit) return;
  if (number / 64 >= words_.size()) words_.resize(number / 64 + 1);
  words_[number / 64] |= std::uint64_t{1} << (number % 64);
}

void Bits::add(const Bits& other) {
  if (other.words_.size() > words_.size()) words_.resize(other.words_.size());
  for (std::size_t i = 0; i < other.words_.size(); ++i) words_[i] |= other.words_[i];
}

void Bits::keep(const Bits& other) {
  words_.resize(std::min(words_.size(), other.words_.size()));
  for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= other.words_[i];
  trim();
}

std::size_t Bits::count() const {
  std::size_t count = 0;
  for (const std::uint64_t word : words_) count += static_cast<std::size_t>(std::popcount(word));
  return count;
}

bool Bits::meets(const Bits& other) const {
  for (std::size_t i = 0; i < std::min(words_.size(), other.words_.size()); ++i)
    if ((words_[i] & other.words_[i]) != 0) return true;
  return false;
}

bool Bits::is_within(const Bits& other) const {
  Bits common = *this;
  common.keep(other);
  return common == *this;
}

std::vector<std::uint32_t> Bits::numbers() const {
  std::vector<std::uint32_t> numbers;
  for (std::size_t i = 0; i < words_.size(); ++i)
    for (std::uint64_t word = words_[i]; word != 0; word &= word - 1)
      numbers.push_back(static_cast<std::uint32_t>(64 * i) +
                        static_cast<std::uint32_t>(std::countr_zero(word)));
  return numbers;
}

std::optional<std::uint32_t> Bits::only() const {
  return count() == 1 ? std::optional(numbers().front()) : std::nullopt;
}

void Bits::trim() {
  while (!words_.empty() && words_.back() == 0) words_.pop_back();
}

}  // namespace pinstep
