#include <algorithm>

#include "envtools/base/text.h"
#include "envtools/package/names.h"
#include "envtools/wheel/wheel.h"

namespace pinstep {
namespace {

// "command = module:function [extra]"
Result<EntryPoint> parse_line(std::string_view line, const std::string& where) {
  const auto halves = split_once(line, '=');
  std::string_view target = halves ? trim(halves->after) : "";
  if (const std::size_t extra = target.find('['); extra != target.npos) target = trim(target.substr(0, extra));
  const auto parts = split_once(target, ':');
  if (!parts)
    return fail(ErrorKind::corrupt, where + ": '" + printable(line) + "' is not 'command = module:function'");
  EntryPoint entry{std::string(trim(halves->before)), std::string(trim(parts->before)),
                   std::string(trim(parts->after))};
  if (!is_command_name(entry.command))
    return fail(ErrorKind::refused, where + ": '" + printable(entry.command) + "' is no name for a command");
  if (!is_identifier_chain(entry.module) || !is_identifier_chain(entry.function))
    return fail(ErrorKind::refused, where + ": '" + printable(target) + "' names no python function");
  return entry;
}

}  // namespace

Result<std::vector<EntryPoint>> parse_entry_points(std::string_view text, const std::string& path) {
  std::vector<EntryPoint> entries;
  bool commands = false;
  int number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    line = trim(line);
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    if (line.front() == '[') {
      commands = line == "[console_scripts]" || line == "[gui_scripts]";
      continue;
    }
    if (!commands) continue;
    auto entry = parse_line(line, path + ":" + std::to_string(number));
    if (!entry) return tl::unexpected(entry.error());
    entries.push_back(std::move(*entry));
  }
  std::sort(entries.begin(), entries.end(),
            [](const EntryPoint& a, const EntryPoint& b) { return a.command < b.command; });
  return entries;
}

}  // namespace pinstep
