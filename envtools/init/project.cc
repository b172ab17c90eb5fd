// Projects of pixi and of Python's packaging (PEP 621).
#include <algorithm>
#include <array>
#include <optional>

#include "envtools/base/text.h"
#include "envtools/channel/channel.h"
#include "envtools/init/new_spec.h"
#include "envtools/lock/names.h"
#include "envtools/yaml/toml.h"

namespace pinstep {
namespace {

const YamlNode* at(const YamlNode& root, std::initializer_list<std::string_view> keys) {
  const YamlNode* node = &root;
  for (const std::string_view key : keys)
    if (node != nullptr) node = node->find(key);
  return node;
}

// "*" says nothing, "1.2" is exact.
std::string constraint_of(std::string_view version) {
  std::string text;
  for (const char c : version)
    if (c != ' ') text += c;
  if (text.empty() || text == "*") return {};
  const bool plain = text.find_first_of("<>=!~|") == std::string::npos;
  if (!plain) return text;
  return (text.find('*') == std::string::npos ? "==" : "=") + text;
}

class Pixi {
 public:
  Pixi(const std::string& path, NewSpec& spec) : path_(path), spec_(spec) {}

  void read(const YamlNode& root) {
    const YamlNode* workspace =
        root.find("workspace") != nullptr ? root.find("workspace") : root.find("project");
    if (workspace != nullptr) read_workspace(*workspace);
    read_dependencies(root);
    // Steps run on Linux: what holds there holds.
    if (const YamlNode* targets = root.find("target"); targets != nullptr)
      for (std::size_t i = 0; i < targets->keys.size(); ++i) {
        const std::string& name = targets->keys[i].text;
        if (name == "linux" || name == "unix" || name == "linux-64")
          read_dependencies(targets->items[i]);
        else
          note(targets->keys[i].line, "'target." + printable(name) + "' is left out: it is for another system");
      }
    for (const std::string_view key : {"feature", "environments"})
      if (const YamlNode* node = root.find(key); node != nullptr)
        note(node->line, "'" + std::string(key) + "' is left out: an environment.yml is one environment");
    if (const YamlNode* needs = root.find("system-requirements"); needs != nullptr)
      note(needs->line,
           "'system-requirements' is left out: 'pinstep lock --virtual-package __cuda=12.4' says what nodes "
           "offer");
    if (const YamlNode* variables = at(root, {"activation", "env"}); variables != nullptr)
      for (std::size_t i = 0; i < variables->keys.size(); ++i)
        spec_.variables[variables->keys[i].text] = variables->items[i].text;
    if (const YamlNode* scripts = at(root, {"activation", "scripts"}); scripts != nullptr)
      note(scripts->line, "activation scripts are left out");
  }

 private:
  void note(int line, const std::string& text) { spec_.notes.push_back(location(path_, line) + text); }

  void read_workspace(const YamlNode& workspace) {
    spec_.name = text_at(workspace, "name");
    if (const YamlNode* channels = workspace.find("channels"); channels != nullptr)
      for (const YamlNode& item : channels->items)
        spec_.channels.push_back(without_credentials(item.is_map() ? text_at(item, "channel") : item.text));
    if (const YamlNode* platforms = workspace.find("platforms"); platforms != nullptr)
      for (const YamlNode& item : platforms->items)
        if (item.is_scalar() && item.text.starts_with("linux-")) spec_.platforms.push_back(item.text);
  }

  void read_dependencies(const YamlNode& node) {
    if (const YamlNode* table = node.find("dependencies"); table != nullptr)
      for (std::size_t i = 0; i < table->keys.size(); ++i) add_conda(table->keys[i], table->items[i]);
    if (const YamlNode* table = node.find("pypi-dependencies"); table != nullptr)
      for (std::size_t i = 0; i < table->keys.size(); ++i) add_pypi(table->keys[i], table->items[i]);
  }

  void add_conda(const YamlKey& key, const YamlNode& value) {
    if (value.find("path") != nullptr || value.find("git") != nullptr || value.find("url") != nullptr) {
      note(key.line, "'" + printable(key.text) + "' is left out: it is the source of a package");
      return;
    }
    const std::string channel = text_at(value, "channel"), build = text_at(value, "build");
    const std::string version = value.is_scalar() ? value.text : text_at(value, "version");
    std::string spec = (channel.empty() ? "" : channel + "::") + key.text;
    if (build.empty())
      spec += constraint_of(version);
    else
      spec += "[" + (version.empty() || version == "*" ? "" : "version='" + version + "',") + "build='" +
              build + "']";
    spec_.conda.push_back(std::move(spec));
  }

  void add_pypi(const YamlKey& key, const YamlNode& value) {
    std::string line = key.text;
    if (const YamlNode* extras = value.find("extras"); extras != nullptr && !extras->items.empty()) {
      line += "[";
      for (const YamlNode& extra : extras->items) line += (line.back() == '[' ? "" : ",") + extra.text;
      line += "]";
    }
    if (const std::string path = text_at(value, "path"); !path.empty()) {
      line = (text_at(value, "editable") == "true" ? "-e " : "") + path;
    } else if (const std::string git = text_at(value, "git"); !git.empty()) {
      std::string ref;
      for (const std::string_view kind : {"rev", "tag", "branch"})
        if (ref.empty()) ref = text_at(value, kind);
      line += " @ git+" + without_credentials(git) + (ref.empty() ? "" : "@" + ref);
    } else if (const std::string url = text_at(value, "url"); !url.empty()) {
      line += " @ " + without_credentials(url);
    } else {
      line += constraint_of(value.is_scalar() ? value.text : text_at(value, "version"));
      if (value.find("index") != nullptr)
        note(key.line, "the index of '" + printable(key.text) +
                           "' is left out: '--extra-index-url URL' is a line of the pip list");
    }
    spec_.pip.push_back(std::move(line));
  }

  const std::string& path_;
  NewSpec& spec_;
};

void read_project(const YamlNode& project, const std::string& path, NewSpec& spec) {
  spec.name = text_at(project, "name");
  const std::string python = text_at(project, "requires-python");
  spec.conda = {"python" + constraint_of(python), "pip"};
  if (const YamlNode* needs = project.find("dependencies"); needs != nullptr)
    for (const YamlNode& item : needs->items) spec.pip.push_back(item.text);
  if (const YamlNode* extras = project.find("optional-dependencies");
      extras != nullptr && !extras->keys.empty())
    spec.notes.push_back(location(path, extras->line) + "optional dependencies are left out");
  if (const YamlNode* dynamic = project.find("dynamic"); dynamic != nullptr)
    for (const YamlNode& item : dynamic->items)
      if (item.text == "dependencies")
        spec.notes.push_back(location(path, item.line) +
                             "the dependencies are told by the build only: none was taken over");
}

}  // namespace

Result<NewSpec> from_project(std::string_view text, const std::string& path) {
  const auto root = parse_toml(text, path);
  if (!root) return tl::unexpected(root.error());
  const YamlNode* inside = at(*root, {"tool", "pixi"});
  const YamlNode& pixi = inside != nullptr ? *inside : *root;
  const bool is_pixi = inside != nullptr || root->find("workspace") != nullptr ||
                       (root->find("project") != nullptr && at(*root, {"project", "channels"}) != nullptr);
  const YamlNode* project = root->find("project");
  if (!is_pixi && (project == nullptr || !project->is_map()))
    return fail(ErrorKind::invalid,
                location(path, 1) + "there is no section [project], [workspace] or [tool.pixi]",
                at(*root, {"tool", "poetry"}) != nullptr
                    ? "'poetry export' writes a requirements.txt, which is read"
                    : "a pixi.toml, a pyproject.toml and a requirements.txt are read");
  NewSpec spec;
  if (project != nullptr && (!is_pixi || inside != nullptr)) read_project(*project, path, spec);
  if (!is_pixi) return spec;
  const std::string name = spec.name;
  NewSpec of_pixi;
  Pixi(path, of_pixi).read(pixi);
  if (of_pixi.name.empty()) of_pixi.name = name;
  // The project's own dependencies are pip's, as pixi takes them.
  of_pixi.pip.insert(of_pixi.pip.begin(), spec.pip.begin(), spec.pip.end());
  const bool has_python = std::any_of(of_pixi.conda.begin(), of_pixi.conda.end(), [](const std::string& item) {
    return item.starts_with("python") && item.find_first_of("=<>[ !~") == 6;
  });
  if (!has_python && std::find(of_pixi.conda.begin(), of_pixi.conda.end(), "python") == of_pixi.conda.end() &&
      !spec.conda.empty())
    of_pixi.conda.insert(of_pixi.conda.begin(), spec.conda.front());
  return of_pixi;
}

}  // namespace pinstep
