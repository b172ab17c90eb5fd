#include "envtools/plan/prefix.h"

#include <algorithm>
#include <optional>

#include "envtools/base/text.h"

namespace pinstep {
namespace {

// What stands for the prefix in canonical text. No path can be this.
constexpr std::string_view kCanonicalPrefix = "//PREFIX//";
constexpr std::string_view kShStart = "#!/bin/sh\n'''exec' \"";
constexpr std::string_view kShEnd = " \"$0\" \"$@\" #'''";
constexpr std::string_view kEnv = "#!/usr/bin/env ";

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  if (from.empty()) return;
  std::string result;
  std::size_t done = 0;
  for (std::size_t at; (at = text.find(from, done)) != std::string::npos; done = at + from.size()) {
    result.append(text, done, at - done);
    result += to;
  }
  if (done == 0) return;
  result.append(text, done);
  text = std::move(result);
}

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_python(std::string_view interpreter) {
  std::string_view name = base_name(interpreter);
  if (!name.starts_with("python")) return false;
  return name.substr(6).find_first_not_of("0123456789.t") == std::string_view::npos;
}

bool in_bin(std::string_view interpreter) {
  const std::string_view directory = interpreter.substr(0, interpreter.rfind('/'));
  return base_name(directory) == "bin";
}

std::string direct_line(std::string_view interpreter, std::string_view arguments) {
  std::string line = "#!" + std::string(interpreter);
  if (!arguments.empty()) line.append(" ").append(arguments);
  return line;
}

std::string env_line(std::string_view interpreter, std::string_view arguments) {
  std::string line(kEnv);
  if (!arguments.empty()) line += "-S ";
  line += base_name(interpreter);
  if (!arguments.empty()) line.append(" ").append(arguments);
  return line;
}

struct Shebang {
  std::string_view interpreter, arguments;
  std::size_t length = 0;  // of the line, without its newline
};

// A first line "#!" whose interpreter lies below `root`, which may hold blanks.
std::optional<Shebang> parse_shebang(std::string_view content, std::string_view root) {
  if (!content.starts_with("#!")) return std::nullopt;
  Shebang shebang;
  shebang.length = std::min(content.find('\n'), content.size());
  std::string_view line = content.substr(2, shebang.length - 2);
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  if (!line.starts_with(root) || !line.substr(root.size()).starts_with('/')) return std::nullopt;
  const std::size_t end = std::min(line.find_first_of(" \t", root.size()), line.size());
  shebang.interpreter = line.substr(0, end);
  shebang.arguments = trim(line.substr(end));
  return shebang;
}

// What shell_quote() made of one word without quotes in it.
std::string_view unquoted(std::string_view word) {
  return word.size() >= 2 && word.front() == '\'' && word.back() == '\'' ? word.substr(1, word.size() - 2)
                                                                         : word;
}

// Whether the two lines can carry this in quotes of the shell and, at the same time, of python.
bool is_quotable(std::string_view text) {
  using namespace std::string_view_literals;
  return text.find_first_of("\"'$`\\\0"sv) == std::string_view::npos;
}

// The same of the two lines for sh; `length` includes the second line.
struct ShForm {
  std::string interpreter, arguments;
  std::size_t length = 0;
};
std::optional<ShForm> parse_sh_form(std::string_view content) {
  if (!content.starts_with(kShStart)) return std::nullopt;
  const std::size_t end = std::min(content.find('\n', kShStart.size()), content.size());
  std::string_view inside = content.substr(kShStart.size(), end - kShStart.size());
  const std::size_t quote = inside.find('"');
  if (!inside.ends_with(kShEnd) || quote + kShEnd.size() >= inside.size()) return std::nullopt;
  inside.remove_suffix(kShEnd.size());
  return ShForm{std::string(inside.substr(0, quote)), std::string(unquoted(trim(inside.substr(quote + 1)))),
                end};
}

// One line for all forms of a shebang; that of env is as good as it gets for what lies in bin/.
std::string canonical_line(std::string_view interpreter, std::string_view arguments) {
  return !is_python(interpreter) && in_bin(interpreter) ? env_line(interpreter, arguments)
                                                        : direct_line(interpreter, arguments);
}

}  // namespace

std::string interpreter_lines(std::string_view interpreter, std::string_view arguments) {
  std::string line = direct_line(interpreter, arguments);
  if (line.size() <= kShebangLimit && interpreter.find_first_of(" \t") == std::string_view::npos) return line;
  if (is_python(interpreter)) {
    if (!is_quotable(interpreter) || !is_quotable(arguments)) return line;
    std::string lines(kShStart);
    lines.append(interpreter).append("\"");
    if (!arguments.empty()) lines.append(" ").append(shell_quote(arguments));
    return lines.append(kShEnd);
  }
  return in_bin(interpreter) ? env_line(interpreter, arguments) : line;
}

std::string replace_in_text(std::string_view content, std::string_view placeholder, std::string_view prefix) {
  std::string head;
  if (const auto shebang = parse_shebang(content, placeholder)) {
    std::string interpreter(shebang->interpreter);
    std::string arguments(shebang->arguments);
    replace_all(interpreter, placeholder, prefix);
    replace_all(arguments, placeholder, prefix);
    // A line that fits keeps its blanks.
    const std::string lines = interpreter_lines(interpreter, arguments);
    if (lines != direct_line(interpreter, arguments)) {
      head = lines;
      content.remove_prefix(shebang->length);
    }
  }
  std::string rest(content);
  replace_all(rest, placeholder, prefix);
  return head + rest;
}

std::string replace_in_binary(std::string content, std::string_view placeholder, std::string_view prefix) {
  for (std::size_t at = 0; (at = content.find(placeholder, at)) != std::string::npos;) {
    const std::size_t end = std::min(content.find('\0', at), content.size());
    std::string run = content.substr(at, end - at);
    replace_all(run, placeholder, prefix);
    run.resize(end - at);
    content.replace(at, end - at, run);
    at = end;
  }
  return content;
}

std::string replace_script_interpreter(std::string_view content, std::string_view interpreter) {
  constexpr std::string_view kMark = "#!python";
  if (!content.starts_with(kMark)) return std::string(content);
  const std::size_t end = std::min(content.find('\n'), content.size());
  std::string_view rest = content.substr(kMark.size(), end - kMark.size());
  if (rest.starts_with('w')) rest.remove_prefix(1);
  return interpreter_lines(interpreter, trim(rest)) + std::string(content.substr(end));
}

std::string entry_point_script(std::string_view python, const EntryPoint& entry) {
  const std::string import_name = entry.function.substr(0, entry.function.find('.'));
  return interpreter_lines(python, "") +
         "\n"
         "# -*- coding: utf-8 -*-\n"
         "import re\n"
         "import sys\n"
         "\n"
         "from " +
         entry.module + " import " + import_name +
         "\n"
         "\n"
         "if __name__ == '__main__':\n"
         "\tsys.argv[0] = re.sub(r'(-script\\.pyw?|\\.exe)?$', '', sys.argv[0])\n"
         "\tsys.exit(" +
         entry.function + "())\n";
}

std::string canonical_text(std::string_view content, std::string_view prefix) {
  std::string head;
  if (const auto form = parse_sh_form(content)) {
    head = canonical_line(form->interpreter, form->arguments);
    content.remove_prefix(form->length);
  } else if (const auto shebang = parse_shebang(content, prefix)) {
    head = canonical_line(shebang->interpreter, shebang->arguments);
    content.remove_prefix(shebang->length);
  }
  std::string text = head + std::string(content);
  replace_all(text, prefix, kCanonicalPrefix);
  return text;
}

std::string restore_binary(std::string_view content, std::string_view placeholder, std::string_view prefix) {
  std::string result;
  std::size_t done = 0;
  for (std::size_t at; (at = content.find(prefix, done)) != std::string_view::npos;) {
    result.append(content.substr(done, at - done));
    const std::size_t end = std::min(content.find('\0', at), content.size());
    std::string run(content.substr(at, end - at));
    replace_all(run, prefix, placeholder);
    const std::size_t filled = run.size() - (end - at);
    const std::size_t padding_end = std::min(content.find_first_not_of('\0', end), content.size());
    if (padding_end - end < filled) run = content.substr(at, end - at);  // not ours
    result += run;
    done = padding_end - end < filled ? end : end + filled;
  }
  result.append(content.substr(done));
  return result;
}

}  // namespace pinstep
