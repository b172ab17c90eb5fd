#include "envtools/init/new_spec.h"

#include "envtools/channel/channel.h"
#include "envtools/spec/requirements.h"
#include "envtools/yaml/yaml.h"

namespace pinstep {
namespace {

void write_list(std::string& text, std::string_view key, const std::vector<std::string>& items) {
  if (items.empty()) return;
  text += std::string(key) + ":\n";
  for (const std::string& item : items) text += "  - " + yaml_scalar(item) + "\n";
}

// The text with the credentials of every URL in it taken out.
std::string clean(const std::string& line) {
  std::string text;
  for (std::size_t at = 0; at <= line.size();) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    const std::string word = line.substr(at, end - at);
    const std::size_t begin =
        std::min(word.find_first_of("=") == std::string::npos || !word.starts_with("-") ? std::size_t{0}
                                                                                        : word.find('=') + 1,
                 word.size());
    text += (at == 0 ? "" : " ") + word.substr(0, begin) + without_credentials(word.substr(begin));
    at = end + 1;
  }
  return text;
}

}  // namespace

std::string format_new_spec(const NewSpec& spec) {
  std::string text;
  if (!spec.name.empty()) text += "name: " + yaml_scalar(spec.name) + "\n";
  write_list(text, "channels", spec.channels);
  write_list(text, "platforms", spec.platforms);
  if (spec.conda.empty() && spec.pip.empty()) text += "dependencies: []\n";
  if (!spec.conda.empty() || !spec.pip.empty()) text += "dependencies:\n";
  for (const std::string& item : spec.conda) text += "  - " + yaml_scalar(item) + "\n";
  if (!spec.pip.empty()) text += "  - pip:\n";
  for (const std::string& item : spec.pip) text += "      - " + yaml_scalar(item) + "\n";
  if (!spec.variables.empty()) text += "variables:\n";
  for (const auto& [name, value] : spec.variables)
    text += "  " + yaml_scalar(name) + ": " + yaml_scalar(value) + "\n";
  return text;
}

NewSpec from_requirements(std::string_view text, const std::string& path) {
  NewSpec spec;
  spec.conda = {"python", "pip"};
  spec.notes.push_back(path + ": no version of Python is named: 'pinstep add python=3.12' does");
  for (const SpecLine& line : requirement_lines(text)) {
    spec.pip.push_back(clean(line.text));
    if (spec.pip.back() != line.text)
      spec.notes.push_back(location(path, line.line) +
                           "credentials left out: netrc, or a variable, keeps them");
  }
  return spec;
}

}  // namespace pinstep
