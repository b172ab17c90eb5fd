#include <openssl/evp.h>

#include <vector>

#include "envtools/base/text.h"
#include "envtools/wheel/wheel.h"

namespace pinstep {
namespace {

// One line of CSV (RFC 4180 as python's csv reads it): fields between commas, quoted where they need it.
std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted && c == '"' && line.substr(i + 1).starts_with('"')) {
      fields.back() += c;
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

constexpr std::string_view kHex = "0123456789abcdef";

// The 43 characters of a sha256 in URL-safe base64 without padding; empty where it is none.
std::string hex_of_base64(std::string text) {
  if (text.size() != 43) return {};
  for (char& c : text) c = c == '-' ? '+' : c == '_' ? '/' : c;
  text += '=';
  unsigned char raw[33];  // a sha256 and a zero byte for the padding
  if (EVP_DecodeBlock(raw, reinterpret_cast<const unsigned char*>(text.data()), 44) != 33) return {};
  std::string hex;
  for (int i = 0; i < 32; ++i) {
    hex += kHex[raw[i] >> 4];
    hex += kHex[raw[i] & 15];
  }
  return hex;
}

std::string base64_of_hex(const std::string& hex) {
  unsigned char raw[32], text[45];
  for (std::size_t i = 0; i < 32; ++i)
    raw[i] = static_cast<unsigned char>(kHex.find(hex[2 * i]) << 4 | kHex.find(hex[2 * i + 1]));
  EVP_EncodeBlock(text, raw, 32);
  std::string base64(reinterpret_cast<char*>(text), 43);
  for (char& c : base64) c = c == '+' ? '-' : c == '/' ? '_' : c;
  return base64;
}

}  // namespace

Result<std::vector<RecordLine>> parse_record(std::string_view text, const std::string& path) {
  std::vector<RecordLine> lines;
  int number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    const auto bad = [&](const char* why) {
      return fail(ErrorKind::corrupt, path + ":" + std::to_string(number) + ": " + why);
    };
    std::vector<std::string> fields = fields_of(line);
    if (fields.size() != 3) return bad("not a path, a digest and a size");
    RecordLine record{std::move(fields[0]), "", 0};
    if (!fields[1].empty()) {
      constexpr std::string_view kSha256 = "sha256=";
      if (!fields[1].starts_with(kSha256)) return bad("a digest other than sha256");
      record.sha256 = hex_of_base64(fields[1].substr(kSha256.size()));
      if (record.sha256.empty()) return bad("this is no sha256");
    }
    if (!fields[2].empty()) {
      const auto size = parse_number<std::uint64_t>(fields[2]);
      if (!size) return bad("this is no size");
      record.size = *size;
    }
    lines.push_back(std::move(record));
  }
  return lines;
}

std::string format_record(const std::vector<RecordLine>& lines) {
  std::string text;
  for (const RecordLine& line : lines) {
    text += csv_field(line.path) + ",";
    if (!line.sha256.empty())
      text += "sha256=" + base64_of_hex(line.sha256) + "," + std::to_string(line.size);
    else
      text += ",";
    text += "\n";
  }
  return text;
}

}  // namespace pinstep
