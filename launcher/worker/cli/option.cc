#include "launcher/worker/cli/option.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "envtools/base/text.h"
#include "launcher/worker/try.h"

namespace pinstep::worker {
namespace {

using Value = std::string_view;

template <class Unsigned>
Option count_row(Value name, Unsigned& value, Unsigned least) {
  return {name,
          least == 0   ? "a number"
          : least == 1 ? "a number from 1"
                       : "a number from 2",
          [&value, least](Value text) {
            const auto number = parse_number<Unsigned>(text);
            if (!number || *number < least) return false;
            value = *number;
            return true;
          }};
}

template <class Real>
bool read_real(Value text, Real& value) {
  Real number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || rest != text.data() + text.size() || !std::isfinite(number) || number < 0)
    return false;
  value = number;
  return true;
}

bool read_seconds(Value text, Milliseconds& value) {
  float seconds = 0;
  if (!read_real(text, seconds) || seconds < 0.1F || seconds > 1e6F) return false;
  value = Milliseconds(static_cast<std::int64_t>(std::lround(seconds * 1000)));
  return true;
}

bool read_bytes(Value text, std::size_t& value) {
  int shift = 0;
  for (const auto& [unit, bits] : {std::pair{'K', 10}, std::pair{'M', 20}, std::pair{'G', 30}})
    if (text.ends_with(unit)) shift = bits;
  if (shift > 0) text.remove_suffix(1);
  const auto number = parse_number<std::uint32_t>(text);
  if (!number || *number == 0) return false;
  value = std::size_t{*number} << shift;
  return true;
}

bool read_rate(Value text, double& value) {
  double unit = 1;
  for (const auto& [letter, size] : {std::pair{'K', 1e3}, std::pair{'M', 1e6}, std::pair{'G', 1e9}})
    if (text.ends_with(letter)) unit = size;
  if (unit > 1) text.remove_suffix(1);
  double number = 0;
  if (!read_real(text, number) || number == 0) return false;
  value = number * unit;
  return true;
}

constexpr std::uint32_t kMostRows = 65536;  // of a batch, or units of a layer

bool read_rows(Value text, std::uint32_t& value) {
  const auto number = parse_number<std::uint32_t>(text);
  if (!number || *number == 0 || *number > kMostRows) return false;
  value = *number;
  return true;
}

bool read_layers(Value text, std::vector<std::uint32_t>& value) {
  std::vector<std::uint32_t> units;
  for (const Value part : split(text, ','))
    if (!read_rows(part, units.emplace_back())) return false;
  value = std::move(units);
  return true;
}

tl::unexpected<Error> unknown(Value name, const std::vector<Option>& options) {
  std::vector<Value> names{"--help", "--version"};
  for (const Option& option : options) names.push_back(option.name);
  const auto near = nearest(name, names);
  return fail(ErrorKind::usage, "there is no option '" + printable(name) + "'",
              near ? "did you mean '" + std::string(*near) + "'?" : "--help lists the options");
}

// The option at this place, and its value, which may be the next word. Returns how many words it took.
Result<std::size_t> read_option(const std::vector<std::string>& words, std::size_t at,
                                const std::vector<Option>& options) {
  const Value word = words[at];
  const auto halves = split_once(word, '=');
  const Value name = halves ? halves->before : word;
  const auto option =
      std::find_if(options.begin(), options.end(), [&](const Option& o) { return o.name == name; });
  if (option == options.end()) return unknown(name, options);
  if (option->wants.empty()) {
    if (halves) return fail(ErrorKind::usage, "option '" + std::string(name) + "' takes no value");
    option->read({});
    return 1;
  }
  if (!halves && at + 1 == words.size())
    return fail(ErrorKind::usage, "option '" + std::string(name) + "' needs a value");
  const Value value = halves ? halves->after : Value(words[at + 1]);
  if (!option->read(value))
    return fail(ErrorKind::usage, "'" + std::string(name) + "' wants " + std::string(option->wants) +
                                      ", not '" + printable(value) + "'");
  return halves ? 1 : 2;
}

}  // namespace

Option flag_option(Value name, bool& value) {
  return {name, {}, [&value](Value) { return value = true; }};
}

Option text_option(Value name, Value wants, std::string& value) {
  return {name, wants, [&value](Value text) { return !(value = text).empty(); }};
}

Option count_option(Value name, std::uint32_t& value, std::uint32_t least) {
  return count_row(name, value, least);
}

Option count_option(Value name, std::uint64_t& value, std::uint64_t least) {
  return count_row(name, value, least);
}

Option real_option(Value name, float& value) {
  return {name, "a number such as 0.05", [&value](Value text) { return read_real(text, value); }};
}

Option seconds_option(Value name, Milliseconds& value) {
  return {name, "seconds, from 0.1", [&value](Value text) { return read_seconds(text, value); }};
}

Option bytes_option(Value name, std::size_t& value) {
  return {name, "bytes, such as 25M", [&value](Value text) { return read_bytes(text, value); }};
}

Option rate_option(Value name, double& value) {
  return {name, "bytes per second, such as 12.5G", [&value](Value text) { return read_rate(text, value); }};
}

Option rows_option(Value name, std::uint32_t& value) {
  return {name, "a number from 1 to 65536", [&value](Value text) { return read_rows(text, value); }};
}

Option layers_option(Value name, std::vector<std::uint32_t>& value) {
  return {name, "units of each layer, such as 256,128",
          [&value](Value text) { return read_layers(text, value); }};
}

Option choice_option(Value name, Value wants, std::function<bool(Value)> read) {
  return {name, wants, std::move(read)};
}

Result<void> read_options(const std::vector<std::string>& words, const std::vector<Option>& options,
                          std::vector<std::string>* rest) {
  for (std::size_t at = 0; at < words.size();) {
    if (words[at].starts_with("--")) {
      const auto taken = read_option(words, at, options);
      if (!taken) return tl::unexpected(taken.error());
      at += *taken;
    } else if (rest != nullptr) {
      rest->push_back(words[at++]);
    } else {
      return fail(ErrorKind::usage, "'" + printable(words[at]) + "' is no option", "--help lists the options");
    }
  }
  return {};
}

}  // namespace pinstep::worker
