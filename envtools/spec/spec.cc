#include "envtools/spec/spec.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "envtools/base/fd.h"
#include "envtools/base/reserved.h"
#include "envtools/base/text.h"
#include "envtools/channel/channel.h"
#include "envtools/spec/check.h"
#include "envtools/spec/requirements.h"
#include "envtools/yaml/yaml.h"

namespace pinstep {
namespace {

constexpr std::array<std::string_view, 7> kTopLevelKeys{"name",      "prefix",    "channels", "dependencies",
                                                        "variables", "platforms", "category"};

bool is_platform(std::string_view text) {
  const auto halves = split_once(text, '-');
  const auto word = [](std::string_view part) {
    return !part.empty() && std::all_of(part.begin(), part.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    });
  };
  return halves && word(halves->before) && word(halves->after);
}

class Reader {
 public:
  Reader(const std::string& path) { spec_.path = path; }

  Result<Spec> read(const YamlNode& root) {
    if (root.is_null()) return fail_at(std::max(root.line, 1), "the file is empty");
    if (!root.is_map())
      return fail_at(root.line, "this is no environment file: it does not begin with keys",
                     "it looks like 'dependencies:' with a list below");
    note_unknown_keys(root);
    Result<void> done = read_dependencies_of(root);
    const auto section = [&](std::string_view key, Result<void> (Reader::*read)(const YamlNode&)) {
      const YamlNode* node = root.find(key);
      if (done && node != nullptr && !node->is_null()) done = (this->*read)(*node);
    };
    section("name", &Reader::read_name);
    section("prefix", &Reader::read_prefix);
    section("channels", &Reader::read_channels);
    section("platforms", &Reader::read_platforms);
    section("variables", &Reader::read_variables);
    if (!done) return tl::unexpected(done.error());
    return std::move(spec_);
  }

 private:
  tl::unexpected<Error> fail_at(int line, std::string_view cause, std::string hint = {}) const {
    return fail(ErrorKind::invalid, location(spec_.path, line) + std::string(cause), std::move(hint));
  }
  void note(int line, std::string_view text) {
    spec_.notes.push_back(location(spec_.path, line) + std::string(text));
  }

  void note_unknown_keys(const YamlNode& root) {
    for (const YamlKey& key : root.keys) {
      if (std::find(kTopLevelKeys.begin(), kTopLevelKeys.end(), key.text) != kTopLevelKeys.end()) continue;
      const auto near = nearest(key.text, {kTopLevelKeys.begin(), kTopLevelKeys.end()});
      note(key.line, "'" + printable(key.text) + "' is not read" +
                         (near ? "; did you mean '" + std::string(*near) + "'?" : ""));
    }
    if (const YamlNode* category = root.find("category"); category != nullptr && !category->is_null())
      note(category->line, "'category' is not read");
  }

  Result<void> read_name(const YamlNode& node) {
    if (!node.is_scalar()) return fail_at(node.line, "'name' is not a text");
    spec_.name = trim(node.text);
    if (spec_.name == "base" || spec_.name == "root" || spec_.name.find_first_of("/ :#\n") != std::string::npos)
      note(node.line, "'" + printable(spec_.name) + "' is not a name that conda would take");
    return {};
  }

  Result<void> read_prefix(const YamlNode& node) {
    note(node.line, "'prefix' is not read: where an environment lies follows from what is in it");
    return {};
  }

  // A list of texts; items without content are noted and left out.
  template <class Take>
  Result<void> each_text(const YamlNode& node, std::string_view what, Take take) {
    if (!node.is_sequence())
      return fail_at(node.line, "'" + std::string(what) + "' is not a list",
                     "each line of a list begins with '- '");
    for (const YamlNode& item : node.items) {
      if (item.is_null() || (item.is_scalar() && trim(item.text).empty())) {
        note(item.line, "an item without content");
        continue;
      }
      if (const Result<void> taken = take(item); !taken) return taken;
    }
    return {};
  }

  Result<void> check_template(const YamlNode& node) const {
    if (!has_template(node.text)) return {};
    return fail_at(node.line,
                   "'" + printable(without_credentials_anywhere(node.text)) + "' is a template, not a value",
                   "write what it should become");
  }

  Result<void> read_channels(const YamlNode& node) {
    bool without_defaults = false;
    const auto done = each_text(node, "channels", [&](const YamlNode& item) -> Result<void> {
      if (!item.is_scalar()) return fail_at(item.line, "a channel is a name, a URL or a path");
      if (const auto plain = check_template(item); !plain) return plain;
      const std::string_view channel = trim(item.text);
      if (channel == "nodefaults") {
        without_defaults = true;
        return {};
      }
      const auto same = [&](const SpecLine& line) { return line.text == channel; };
      if (std::any_of(spec_.channels.begin(), spec_.channels.end(), same))
        note(item.line, "'" + printable(without_credentials(channel)) + "' is in the list already");
      else
        spec_.channels.push_back({std::string(channel), item.line});
      return {};
    });
    if (done && without_defaults && spec_.channels.empty())
      return fail_at(node.line, "'nodefaults' leaves no channel", "name one, such as conda-forge");
    return done;
  }

  Result<void> read_platforms(const YamlNode& node) {
    return each_text(node, "platforms", [&](const YamlNode& item) -> Result<void> {
      if (!item.is_scalar() || !is_platform(item.text))
        return fail_at(item.line, "'" + printable(item.text) + "' is not a platform",
                       "platforms are linux-64, linux-aarch64 and the like");
      if (std::find(spec_.platforms.begin(), spec_.platforms.end(), item.text) == spec_.platforms.end())
        spec_.platforms.push_back(item.text);
      return {};
    });
  }

  Result<void> read_variables(const YamlNode& node) {
    if (!node.is_map()) return fail_at(node.line, "'variables' is not made of lines 'NAME: value'");
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      const YamlKey& key = node.keys[i];
      const YamlNode& value = node.items[i];
      const std::string quoted = "'" + printable(key.text) + "'";
      if (!is_variable_name(key.text)) return fail_at(key.line, quoted + " is not the name of a variable");
      if (const auto because = reserved_because(key.text))
        return fail_at(key.line, quoted + " cannot be set here: " + std::string(*because));
      if (affects_every_program(key.text)) note(key.line, quoted + " is set for every program of a step");
      if (value.is_null())
        return fail_at(key.line, quoted + " has no value",
                       "write \"\" for an empty one, or \"null\" in quotes");
      if (!value.is_scalar()) return fail_at(value.line, "the value of " + quoted + " is not a text");
      spec_.variables[key.text] = value.text;
    }
    return {};
  }

  // ---- dependencies

  Result<void> read_dependencies_of(const YamlNode& root) {
    const YamlNode* node = root.find("dependencies");
    if (node == nullptr) {
      for (const YamlKey& key : root.keys)
        if (nearest(key.text, {"dependencies"}))
          return fail_at(key.line, "'" + printable(key.text) + "' is not read", "did you mean 'dependencies'?");
      return fail_at(root.line, "the file has no 'dependencies:'",
                     "an environment file lists its packages there");
    }
    if (node->is_null()) {
      note(node->line, "'dependencies' is empty");
      return {};
    }
    return each_text(*node, "dependencies", [&](const YamlNode& item) -> Result<void> {
      if (item.is_scalar()) return read_match_spec(item.line, item.text);
      if (item.is_map()) return read_sections(item);
      return fail_at(item.line, "a list in the list of dependencies", "is a '- ' too many?");
    });
  }

  Result<void> read_match_spec(int line, std::string_view text) {
    text = trim(text);
    if (has_template(text))
      return fail_at(line, "'" + printable(text) + "' is a template, not a package",
                     "write what it should become");
    if (const auto problem = check_match_spec(text)) {
      if (problem->fatal) return fail_at(line, problem->cause, problem->hint);
      note(line, problem->cause);
    }
    spec_.conda.push_back({std::string(text), line});
    return {};
  }

  Result<void> read_sections(const YamlNode& item) {
    for (std::size_t i = 0; i < item.items.size(); ++i) {
      const auto done = read_section(item.keys[i], item.items[i]);
      if (!done) return done;
    }
    return {};
  }

  Result<void> read_section(const YamlKey& key, const YamlNode& node) {
    if (key.text == "pip") return read_pip(key.line, node);
    if (key.text.starts_with("sel(") && key.text.ends_with(')')) return read_selected(key, node);
    if (node.is_scalar())
      return fail_at(key.line, "'" + printable(key.text) + ": " + printable(node.text) + "' is not a package",
                     "write '" + printable(key.text) + "=" + printable(node.text) + "'");
    return fail_at(key.line, "'" + printable(key.text) + "' is not a section that pinstep reads",
                   "there is 'pip:'");
  }

  // mamba's selectors. Of the systems only Linux is one that Slurm steps run on.
  Result<void> read_selected(const YamlKey& key, const YamlNode& node) {
    const std::string_view system = std::string_view(key.text).substr(4, key.text.size() - 5);
    if (!node.is_scalar()) return fail_at(node.line, "'" + printable(key.text) + "' takes one package");
    if (system == "linux" || system == "unix") return read_match_spec(node.line, node.text);
    if (system != "osx" && system != "win")
      return fail_at(key.line, "'" + printable(key.text) + "' is not a selector",
                     "there are sel(linux), sel(unix), sel(osx) and sel(win)");
    note(key.line, "'" + printable(node.text) + "' is left out: it is for another system");
    return {};
  }

  Result<void> read_pip(int line, const YamlNode& node) {
    if (spec_.has_pip_section) note(line, "a second 'pip:' list is read after the first");
    spec_.has_pip_section = true;
    if (node.is_null()) return {};
    return each_text(node, "pip", [&](const YamlNode& item) -> Result<void> {
      if (!item.is_scalar())
        return fail_at(item.line, "this is not a line of a requirements file",
                       item.is_map() ? "a text with ': ' in it needs quotes" : "is a '- ' too many?");
      if (const auto plain = check_template(item); !plain) return plain;
      for (SpecLine& line : requirement_lines(item.text))
        spec_.pip.push_back({std::move(line.text), item.line});
      return {};
    });
  }

  Spec spec_;
};

void note_selectors(Spec& spec, std::string_view text) {
  int number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    if (const auto selector = comment_selector(line))
      spec.notes.push_back(location(spec.path, number) + "'# " + *selector +
                           "' is only a comment, as for conda: the line holds on every platform");
  }
}

// Templates that are no YAML at all, such as `{% if gpu %}`.
Error located_template(const std::string& path, std::string_view text, Error otherwise) {
  int number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    if (has_template(line.substr(0, line.find('#'))))
      return {ErrorKind::invalid, location(path, number) + "'" + printable(trim(line)) + "' is a template",
              "write what it should become"};
  }
  return otherwise;
}

}  // namespace

Result<Spec> parse_spec(std::string_view text, const std::string& path) {
  const auto decoded = decode_text(text, path);
  if (!decoded) return tl::unexpected(decoded.error());
  const auto root = parse_yaml(*decoded, path);
  if (!root) return tl::unexpected(located_template(path, *decoded, root.error()));
  auto spec = Reader(path).read(*root);
  if (spec) note_selectors(*spec, *decoded);
  return spec;
}

Result<Spec> load_spec(const std::string& path) {
  const auto file = read_file(path, kSpecSizeLimit, Links::followed);
  if (!file) return tl::unexpected(file.error());
  auto spec = parse_spec(file->text, path);
  if (!spec) return spec;
  if (auto read = read_requirement_files(*spec); !read) return tl::unexpected(read.error());
  return spec;
}

}  // namespace pinstep
