#include "launcher/worker/store/wire.h"

#include <cstdint>

namespace pinstep::worker {
namespace {

void append_number(std::string& out, std::size_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xff);
}

std::size_t number(std::string_view bytes) {
  std::uint32_t value = 0;
  for (const char c : bytes.substr(0, 4)) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

}  // namespace

std::string encode(const Message& message) {
  std::string fields;
  for (const std::string& field : message) {
    append_number(fields, field.size());
    fields += field;
  }
  std::string out;
  append_number(out, fields.size());
  return out + fields;
}

std::optional<Message> take_message(std::string& bytes, bool& is_broken) {
  is_broken = false;
  if (bytes.size() < 4) return std::nullopt;
  const std::size_t length = number(bytes);
  is_broken = length > kMessageLimit;
  if (is_broken || bytes.size() - 4 < length) return std::nullopt;
  std::string_view rest = std::string_view(bytes).substr(4, length);
  Message message;
  while (!rest.empty()) {
    const std::size_t size = rest.size() < 4 ? rest.size() : number(rest);
    is_broken = rest.size() < 4 || rest.size() - 4 < size;
    if (is_broken) return std::nullopt;
    message.emplace_back(rest.substr(4, size));
    rest.remove_prefix(4 + size);
  }
  bytes.erase(0, 4 + length);
  return message;
}

}  // namespace pinstep::worker
