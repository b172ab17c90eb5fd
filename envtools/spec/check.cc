#include "envtools/spec/check.h"

#include <algorithm>
#include <array>

#include "envtools/base/text.h"

namespace pinstep {
namespace {

constexpr std::string_view kPipHint = "it belongs into the list below 'pip:'";

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_-.*").find(c) != std::string_view::npos;
}

bool is_file_or_url(std::string_view text) {
  return text.ends_with(".conda") || text.ends_with(".tar.bz2") || text.find("://") != std::string_view::npos;
}

// Lines that are pip's and stand among conda's.
std::optional<SpecProblem> check_for_pip(std::string_view text, const std::string& quoted) {
  if (text.starts_with('-')) return SpecProblem{quoted + " is an option of pip", std::string(kPipHint)};
  if (text.starts_with("git+") || text.starts_with("hg+") || text.find(" @ ") != std::string_view::npos)
    return SpecProblem{quoted + " is a requirement of pip", std::string(kPipHint)};
  if (text.find("===") != std::string_view::npos)
    return SpecProblem{quoted + " has pip's operator '==='", "a conda package's exact version has '=='"};
  if (text.find(';') != std::string_view::npos)
    return SpecProblem{quoted + " has a marker, which conda packages do not have",
                       std::string(kPipHint) + ", or has to be without it"};
  return {};
}

// `python=3.12=*_cpython` is exact in its version: 3.12.4 does not match.
std::optional<SpecProblem> check_exact(std::string_view name, std::string_view rest,
                                       const std::string& quoted) {
  if (!rest.starts_with('=') || rest.starts_with("==")) return {};
  const auto halves = split_once(rest.substr(1), '=');
  if (!halves || halves->before.empty() || halves->after.find('*') == std::string_view::npos) return {};
  const std::string_view version = halves->before;
  if (version.find_first_of("*<>,|!~") != std::string_view::npos ||
      std::count(version.begin(), version.end(), '.') > 1)
    return {};
  const std::string shown = printable(version);
  const std::string better = std::string(name) + "=" + shown + ".*=" + printable(halves->after);
  return SpecProblem{
      quoted + " means version " + shown + " exactly, not " + shown + ".1; '" + better + "' means both", "",
      false};
}

}  // namespace

MatchParts split_match_spec(std::string_view text) {
  MatchParts parts;
  if (const std::size_t at = text.find("::"); at != std::string_view::npos) {
    parts.channel = trim(text.substr(0, at));
    text.remove_prefix(at + 2);
  }
  text = trim(text);
  const auto end =
      static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_name_character) - text.begin());
  parts.name = text.substr(0, end);
  parts.rest = trim(text.substr(end));
  return parts;
}

std::string package_name(std::string_view match_spec) { return to_lower(split_match_spec(match_spec).name); }

std::string requirement_name(std::string_view line) {
  line = trim(line);
  const std::string_view name = line.substr(0, line.find_first_of(" [<>=!~;@"));
  if (name.starts_with('-') || name.find_first_of(":/") != std::string_view::npos) return "";
  std::string normalized;
  for (const char c : to_lower(name)) {
    const bool separates = c == '-' || c == '_' || c == '.';
    if (!separates || !normalized.ends_with('-')) normalized += separates ? '-' : c;
  }
  return normalized;
}

std::optional<SpecProblem> check_match_spec(std::string_view text) {
  const std::string quoted = "'" + printable(text) + "'";
  if (is_file_or_url(text) && !text.starts_with("git+") && text.find(" @ ") == std::string_view::npos)
    return {};
  if (auto problem = check_for_pip(text, quoted)) return problem;

  const auto [channel, name, rest] = split_match_spec(text);
  if (name.empty()) return SpecProblem{quoted + " names no package", ""};

  if (rest.starts_with('[')) {
    const std::string_view inside = rest.substr(1, rest.find(']') - 1);
    if (rest.find(']') == std::string_view::npos) return SpecProblem{quoted + " has a '[' without its ']'", ""};
    if (inside.find('=') == std::string_view::npos)
      return SpecProblem{quoted + " asks for an extra, which conda packages do not have",
                         "leave '[" + printable(inside) +
                             "]' out and name the packages it stands for, or move "
                             "the line below 'pip:'"};
  }
  if (rest.starts_with('@') || rest.starts_with(':') || rest.starts_with('/'))
    return SpecProblem{quoted + " is not a package with a version", "write it like 'numpy=1.26'"};
  return check_exact(name, rest, quoted);
}

std::optional<std::string> comment_selector(std::string_view line) {
  static constexpr std::array<std::string_view, 22> kWords{
      "linux",   "linux32", "linux64", "osx", "osx64", "win",    "win32",  "win64",
      "unix",    "aarch64", "arm64",   "arm", "x86",   "x86_64", "armv6l", "armv7l",
      "ppc64le", "s390x",   "and",     "or",  "not",   "x64"};
  line = trim(line);
  const std::size_t hash = line.rfind('#');
  if (hash == std::string_view::npos || !line.ends_with(']')) return {};
  std::string_view inside = trim(line.substr(hash + 1));
  if (!inside.starts_with('[')) return {};
  const std::string selector(inside);
  inside = inside.substr(1, inside.size() - 2);
  bool any = false;
  while (!inside.empty()) {
    const std::size_t first = inside.find_first_not_of(" ()");
    if (first == std::string_view::npos) break;
    inside.remove_prefix(first);
    const std::string_view word = inside.substr(0, inside.find_first_of(" ()"));
    if (std::find(kWords.begin(), kWords.end(), word) == kWords.end()) return {};
    any = true;
    inside.remove_prefix(word.size());
  }
  if (!any) return {};
  return selector;
}

bool has_template(std::string_view text) {
  return text.find("{{") != std::string_view::npos || text.find("{%") != std::string_view::npos;
}

}  // namespace pinstep
