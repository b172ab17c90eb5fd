#include "envtools/lint/facts.h"

#include <algorithm>
#include <array>

#include "envtools/base/text.h"
#include "envtools/spec/check.h"

namespace pinstep {
namespace {

std::string without_blanks(std::string_view text) {
  std::string result(text);
  std::erase(result, ' ');
  return result;
}

Wanted conda_line(const SpecLine& line) {
  const MatchParts parts = split_match_spec(line.text);
  return {package_name(line.text), without_blanks(parts.rest), std::string(parts.channel), line.line};
}

std::optional<Wanted> pip_line(const SpecLine& line) {
  std::string name = requirement_name(line.text);
  if (name.empty()) return {};
  const std::string_view text = trim(line.text);
  const auto end = text.find_first_of(" [<>=!~;@");
  std::string_view rest = end == std::string_view::npos ? "" : text.substr(end);
  if (const auto extras = rest.find(']'); extras != std::string_view::npos) rest.remove_prefix(extras + 1);
  return Wanted{std::move(name), without_blanks(rest.substr(0, rest.find(';'))), "", line.line};
}

const Wanted* find(const std::vector<Wanted>& all, std::string_view name) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Wanted& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

// The constraint's first part, without its build.
std::string_view first_part(std::string_view constraint) {
  std::string_view part = constraint.substr(0, constraint.find_first_of(",|["));
  const auto from = part.find_first_not_of("<>=!~");
  const auto build = from == std::string_view::npos ? from : part.find('=', from);
  return part.substr(0, build);
}

std::optional<std::string> after(std::string_view part, std::string_view sign) {
  if (!part.starts_with(sign)) return {};
  part.remove_prefix(sign.size());
  while (part.ends_with('*') || part.ends_with('.')) part.remove_suffix(1);
  if (part.empty() || part[0] < '0' || part[0] > '9') return {};
  return std::string(part);
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kPipNames{
    {{"pytorch", "torch"}, {"pytorch-gpu", "torch"}, {"opencv", "opencv-python"}}};

}  // namespace

std::optional<std::string> Wanted::version() const {
  const std::string_view part = first_part(constraint);
  for (const std::string_view sign : {"==", "=", "~=", ""})
    if (auto found = after(part, sign)) return found;
  return {};
}

std::optional<std::string> Wanted::at_least() const {
  if (auto exact = version()) return exact;
  return after(first_part(constraint), ">=");
}

std::string Wanted::build() const {
  const auto from = constraint.find_first_not_of("<>=!~");
  const auto at = from == std::string::npos ? from : constraint.find('=', from);
  return at == std::string::npos ? "" : constraint.substr(at + 1);
}

LintFacts::LintFacts(const LintInput& given) : input(given) {
  for (const SpecLine& line : given.spec.conda) all_conda.push_back(conda_line(line));
  for (const SpecLine& line : given.spec.pip)
    if (auto wanted = pip_line(line)) all_pip.push_back(std::move(*wanted));
}

const Wanted* LintFacts::conda(std::string_view name) const { return find(all_conda, name); }
const Wanted* LintFacts::pip(std::string_view name) const { return find(all_pip, name); }

const SpecLine* LintFacts::channel(std::string_view name) const {
  const auto& channels = input.spec.channels;
  const auto found = std::find_if(channels.begin(), channels.end(), [&](const SpecLine& channel) {
    return channel.text == name || channel.text.ends_with("/" + std::string(name));
  });
  return found == channels.end() ? nullptr : &*found;
}

std::optional<std::string> LintFacts::offered(std::string_view name) const {
  for (const VirtualPackage& package : input.profile)
    if (package.name == name) return package.version;
  return {};
}

std::string pip_name_of(std::string_view conda_name) {
  for (const auto& [conda, pip] : kPipNames)
    if (conda == conda_name) return std::string(pip);
  return std::string(conda_name);
}

bool is_of(std::string_view version, std::string_view begin) {
  return version == begin || (version.starts_with(begin) && version[begin.size()] == '.');
}

}  // namespace pinstep
