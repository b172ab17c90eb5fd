#include "envtools/piplock/marker.h"

#include <algorithm>
#include <array>
#include <vector>

#include "envtools/base/text.h"
#include "envtools/lock/version.h"

namespace pinstep {
namespace {

constexpr int kDeepest = 64;  // parentheses

// Longest first.
constexpr std::array<std::string_view, 8> kOperators{"===", "~=", "==", "!=", "<=", ">=", "<", ">"};

// 3.9.* of 3.9.7. Missing parts count as 0.
bool begins_with(std::string_view version, std::string_view prefix) {
  const auto whole = split(version, '.'), begin = split(prefix, '.');
  for (std::size_t i = 0; i < begin.size(); ++i)
    if (compare_versions(i < whole.size() ? whole[i] : "0", begin[i]) != 0) return false;
  return true;
}

// "3.9" of "~=3.9.2".
std::string_view compatible_prefix(std::string_view version) {
  const std::size_t dot = version.rfind('.');
  return dot == std::string_view::npos ? version : version.substr(0, dot);
}

bool compares(std::string_view version, std::string_view operation, std::string_view with) {
  if (operation == "===") return version == with;
  const bool starred = with.ends_with(".*");
  if (starred) with.remove_suffix(2);
  if (operation == "==" && starred) return begins_with(version, with);
  if (operation == "!=" && starred) return !begins_with(version, with);
  const auto order = compare_versions(version, with);
  if (operation == "~=") return order >= 0 && begins_with(version, compatible_prefix(with));
  if (operation == "==") return order == 0;
  if (operation == "!=") return order != 0;
  if (operation == "<=") return order <= 0;
  if (operation == ">=") return order >= 0;
  return operation == "<" ? order < 0 : order > 0;
}

bool is_version(std::string_view text) { return !text.empty() && text[0] >= '0' && text[0] <= '9'; }

class Parser {
 public:
  Parser(std::string_view text, const MarkerEnvironment& environment)
      : text_(text), environment_(environment) {}

  Result<bool> parse() {
    auto value = any_of(0);
    if (value && !trim(rest()).empty()) return wrong();
    return value;
  }

 private:
  struct Operand {
    std::string text;
    const std::set<std::string, std::less<>>* set = nullptr;  // of `extras` and the like
  };

  std::string_view rest() const { return text_.substr(at_); }
  tl::unexpected<Error> wrong() const {
    return fail(ErrorKind::invalid, "'" + printable(text_) + "' is not a marker that pinstep understands");
  }
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  static bool is_word_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  }
  bool take(std::string_view word) {
    skip_blanks();
    if (!rest().starts_with(word)) return false;
    const bool letters = is_word_character(word.back());
    const std::size_t end = at_ + word.size();
    if (letters && end < text_.size() && is_word_character(text_[end])) return false;
    at_ = end;
    return true;
  }

  Result<bool> any_of(int depth) {
    auto value = all_of(depth);
    while (value && take("or")) {
      const auto other = all_of(depth);
      if (!other) return other;
      value = *value || *other;
    }
    return value;
  }

  Result<bool> all_of(int depth) {
    auto value = one(depth);
    while (value && take("and")) {
      const auto other = one(depth);
      if (!other) return other;
      value = *value && *other;
    }
    return value;
  }

  Result<bool> one(int depth) {
    if (!take("(")) return comparison();
    if (depth == kDeepest) return wrong();
    auto value = any_of(depth + 1);
    if (value && !take(")")) return wrong();
    return value;
  }

  Result<bool> comparison() {
    const auto left = operand();
    if (!left) return tl::unexpected(left.error());
    if (take("not")) return take("in") ? contained(*left, false) : wrong();
    if (take("in")) return contained(*left, true);
    for (const std::string_view operation : kOperators)
      if (take(operation)) {
        const auto right = operand();
        if (!right) return tl::unexpected(right.error());
        return compared(*left, operation, *right);
      }
    return wrong();
  }

  Result<bool> contained(const Operand& left, bool wanted) {
    const auto right = operand();
    if (!right) return tl::unexpected(right.error());
    const bool is_in = right->set != nullptr ? right->set->contains(left.text)
                                             : right->text.find(left.text) != std::string::npos;
    return is_in == wanted;
  }

  Result<bool> compared(const Operand& left, std::string_view operation, const Operand& right) const {
    if (left.set != nullptr || right.set != nullptr) {  // extra == "x"
      const Operand& set = left.set != nullptr ? left : right;
      const Operand& name = left.set != nullptr ? right : left;
      if (operation != "==" && operation != "!=") return wrong();
      return set.set->contains(name.text) == (operation == "==");
    }
    if (is_version(left.text) && is_version(right.text)) return compares(left.text, operation, right.text);
    if (operation == "==" || operation == "===") return left.text == right.text;
    if (operation == "!=") return left.text != right.text;
    return operation[0] == '<' ? left.text < right.text : left.text > right.text;
  }

  Result<Operand> operand() {
    skip_blanks();
    if (at_ == text_.size()) return wrong();
    const char quote = text_[at_];
    if (quote == '\'' || quote == '"') {
      const std::size_t end = text_.find(quote, at_ + 1);
      if (end == std::string_view::npos) return wrong();
      Operand made{std::string(text_.substr(at_ + 1, end - at_ - 1))};
      at_ = end + 1;
      return made;
    }
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_word_character(text_[at_])) ++at_;
    return variable(text_.substr(begin, at_ - begin));
  }

  Result<Operand> variable(std::string_view name) const {
    if (name == "extra" || name == "extras") return Operand{"", &environment_.extras};
    if (name == "dependency_groups") return Operand{"", &environment_.groups};
    const auto found = environment_.values.find(name);
    if (found == environment_.values.end()) return wrong();
    return Operand{found->second};
  }

  std::string_view text_;
  const MarkerEnvironment& environment_;
  std::size_t at_ = 0;
};

}  // namespace

MarkerEnvironment linux_markers(std::string_view python, std::string_view machine) {
  const auto parts = split(python, '.');
  const std::string version = std::string(parts[0]) + "." + std::string(parts.size() > 1 ? parts[1] : "0");
  MarkerEnvironment environment;
  environment.values = {{"os_name", "posix"},
                        {"sys_platform", "linux"},
                        {"platform_system", "Linux"},
                        {"platform_machine", std::string(machine)},
                        {"platform_release", ""},
                        {"platform_version", ""},
                        {"python_version", version},
                        {"python_full_version", std::string(python)},
                        {"implementation_name", "cpython"},
                        {"implementation_version", std::string(python)},
                        {"platform_python_implementation", "CPython"}};
  return environment;
}

Result<bool> marker_holds(std::string_view marker, const MarkerEnvironment& environment) {
  return Parser(marker, environment).parse();
}

Result<bool> fits_specifiers(std::string_view version, std::string_view specifiers) {
  for (std::string_view one : split(specifiers, ',')) {
    one = trim(one);
    if (one.empty()) continue;
    const auto operation = std::find_if(kOperators.begin(), kOperators.end(),
                                        [&](std::string_view candidate) { return one.starts_with(candidate); });
    if (operation == kOperators.end() || !is_version(trim(one.substr(operation->size()))))
      return fail(ErrorKind::invalid, "'" + printable(one) + "' is not a version specifier");
    if (!compares(version, *operation, trim(one.substr(operation->size())))) return false;
  }
  return true;
}

}  // namespace pinstep
