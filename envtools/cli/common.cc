#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "envtools/base/process.h"
#include "envtools/base/text.h"
#include "envtools/cli/cli.h"
#include "envtools/json/json.h"
#include "pinstep_config.h"

namespace pinstep::cli {
namespace {

tl::unexpected<Error> unknown_option(std::string_view name, const std::vector<OptionSpec>& specs) {
  std::vector<std::string_view> names;
  for (const OptionSpec& spec : specs) names.push_back(spec.name);
  const auto near = nearest(name, names);
  return fail(ErrorKind::usage, "there is no option '--" + std::string(name) + "'",
              near ? "did you mean '--" + std::string(*near) + "'?" : "--help lists the options");
}

std::string shown(const OptionSpec& spec) { return "--" + std::string(spec.name); }

}  // namespace

bool Parsed::has(std::string_view name) const { return last(name).has_value(); }

std::optional<std::string> Parsed::last(std::string_view name) const {
  const auto found =
      std::find_if(options.rbegin(), options.rend(), [&](const auto& option) { return option.first == name; });
  if (found == options.rend()) return std::nullopt;
  return found->second;
}

std::vector<std::string> Parsed::all(std::string_view name) const {
  std::vector<std::string> values;
  for (const auto& [option, value] : options)
    if (option == name) values.push_back(value);
  return values;
}

Result<Parsed> parse(const Arguments& arguments, const std::vector<OptionSpec>& specs) {
  Parsed parsed;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--") {
      parsed.operands.insert(parsed.operands.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                             arguments.end());
      break;
    }
    if (!word.starts_with("-") || word == "-") {
      parsed.operands.push_back(word);
      continue;
    }
    const bool is_long = word.starts_with("--");
    const auto halves = is_long ? split_once(word, '=') : std::nullopt;
    std::string_view name = halves ? halves->before : std::string_view(word);
    name.remove_prefix(is_long ? 2 : 1);
    const auto spec = std::find_if(specs.begin(), specs.end(), [&](const OptionSpec& candidate) {
      return is_long ? candidate.name == name : name.size() == 1 && candidate.letter == name[0];
    });
    if (spec == specs.end()) return unknown_option(name, specs);
    if (!spec->takes_value && halves)
      return fail(ErrorKind::usage, "option '" + shown(*spec) + "' takes no value");
    std::string value;
    if (spec->takes_value && halves)
      value = halves->after;
    else if (spec->takes_value && i + 1 < arguments.size())
      value = arguments[++i];
    else if (spec->takes_value)
      return fail(ErrorKind::usage, "option '" + shown(*spec) + "' needs a value");
    parsed.options.emplace_back(spec->name, value);
  }
  return parsed;
}

int report(const Error& error, bool json) {
  if (json) {
    std::printf("{\"error\": %s, \"cause\": %s, \"hint\": %s}\n", json_string(to_string(error.kind)).c_str(),
                json_string(error.cause).c_str(), json_string(error.hint).c_str());
  } else {
    std::fprintf(stderr, "pinstep: error: %s\n", printable(error.cause).c_str());
    if (!error.hint.empty()) std::fprintf(stderr, "pinstep: hint: %s\n", printable(error.hint).c_str());
  }
  return error.kind == ErrorKind::usage ? kUsage : kFailed;
}

bool wants_json(const Arguments& arguments) {
  const auto operands = std::find(arguments.begin(), arguments.end(), "--");
  return std::find(arguments.begin(), operands, "--json") != operands;
}

std::string json_string(std::string_view text) { return dump_json(std::string(text)); }

std::string private_file(std::string_view name) {
  return pinstep::private_file(name, PINSTEP_LIBEXECDIR);
}

std::string absolute(std::string_view path, const std::string& directory) {
  return path.starts_with('/') ? std::string(path) : directory + "/" + std::string(path);
}

}  // namespace pinstep::cli
