#include "envtools/spec/edit.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "envtools/base/text.h"
#include "envtools/spec/check.h"
#include "envtools/spec/spec.h"
#include "envtools/yaml/yaml.h"

namespace pinstep {
namespace {

std::string name_of(Section section, std::string_view wanted) {
  return section == Section::conda ? package_name(wanted) : requirement_name(wanted);
}

std::vector<SpecLine>& lines_of(Spec& spec, Section section) {
  return section == Section::conda ? spec.conda : spec.pip;
}

// As people write it: without quotes where YAML reads it back so.
std::string written(std::string_view wanted) {
  const std::string plain(wanted);
  const auto read = parse_yaml("- " + plain + "\n", "");
  const bool same = read && read->items.size() == 1 && read->items[0].is_scalar() &&
                    read->items[0].text == plain && plain.find('\n') == std::string::npos;
  return same ? plain : yaml_scalar(wanted);
}

// "  - numpy  # why": what stands before and after the item.
struct Item {
  std::string before;   // "  - "
  std::string comment;  // "  # why"
};
std::optional<Item> item_of(std::string_view line) {
  const auto dash = line.find_first_not_of(' ');
  if (dash == std::string_view::npos || line.substr(dash, 2) != "- ") return {};
  const auto content = line.find_first_not_of(' ', dash + 1);
  if (content == std::string_view::npos) return {};
  Item item{std::string(line.substr(0, content)), ""};
  if (auto hash = line.find(" #", content); hash != std::string_view::npos) {
    while (hash > content && line[hash - 1] == ' ') --hash;
    item.comment = line.substr(hash);
  }
  return item;
}

class Editor {
 public:
  explicit Editor(std::string_view text) {
    for (const std::string_view line : split(text, '\n')) lines_.emplace_back(line);
    ends_with_newline_ = lines_.size() > 1 && lines_.back().empty();
    if (ends_with_newline_) lines_.pop_back();
  }

  std::string text() const {
    std::string text;
    for (std::size_t i = 0; i < lines_.size(); ++i)
      text += lines_[i] + (i + 1 < lines_.size() || ends_with_newline_ ? "\n" : "");
    return text;
  }

  bool replace(int line, std::string_view wanted) {
    const auto item = item_of(at(line));
    if (!item) return false;
    at(line) = item->before + written(wanted) + item->comment;
    return true;
  }

  void remove(int line) { lines_.erase(lines_.begin() + (line - 1)); }

  // Behind another item of the same list.
  bool insert_behind(int line, std::string_view wanted) {
    const auto item = item_of(at(line));
    if (!item) return false;
    insert(line, item->before + written(wanted));
    return true;
  }

  void insert(int line, std::string text) { lines_.insert(lines_.begin() + line, std::move(text)); }

  std::optional<int> line_with_key(std::string_view key) const {
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      std::string_view line = trim(std::string_view(lines_[i]).substr(0, lines_[i].find('#')));
      if (line.starts_with("- ")) line = trim(line.substr(2));
      if (line == std::string(key) + ":") return static_cast<int>(i + 1);
    }
    return {};
  }

  std::string indentation(int line) const {
    const std::string& text = lines_[static_cast<std::size_t>(line - 1)];
    return text.substr(0, std::min(text.find_first_not_of(' '), text.size()));
  }

 private:
  std::string& at(int line) { return lines_[static_cast<std::size_t>(line - 1)]; }

  std::vector<std::string> lines_;
  bool ends_with_newline_ = false;
};

tl::unexpected<Error> cannot_edit(const std::string& path, int line) {
  return fail(ErrorKind::unsupported, location(path, line) + "this list cannot be edited",
              "write each package in a line of its own, '  - numpy', or edit it by hand");
}

int last_line(const std::vector<SpecLine>& lines) {
  int last = 0;
  for (const SpecLine& line : lines) last = std::max(last, line.line);
  return last;
}

// A new line of conda's. Behind the last one there is; pip's list may follow it.
bool add_conda(Editor& editor, const Spec& spec, std::string_view wanted) {
  if (!spec.conda.empty()) return editor.insert_behind(last_line(spec.conda), wanted);
  const auto head = editor.line_with_key("dependencies");
  if (!head) return false;
  editor.insert(*head, editor.indentation(*head) + "  - " + written(wanted));
  return true;
}

bool add_pip(Editor& editor, Spec& spec, std::string_view wanted) {
  if (!spec.pip.empty()) return editor.insert_behind(last_line(spec.pip), wanted);
  if (!spec.has_pip_section) {
    const auto is_pip = [](const SpecLine& line) { return package_name(line.text) == "pip"; };
    if (std::none_of(spec.conda.begin(), spec.conda.end(), is_pip)) {
      if (!add_conda(editor, spec, "pip")) return false;
      const auto reread = parse_spec(editor.text(), spec.path);
      if (!reread) return false;
      spec.conda = reread->conda;
    }
    const int last = last_line(spec.conda);
    editor.insert(last, editor.indentation(last) + "- pip:");
  }
  const auto head = editor.line_with_key("pip");
  if (!head) return false;
  editor.insert(*head, editor.indentation(*head) + "    - " + written(wanted));
  return true;
}

using Texts = std::vector<std::string>;

Texts texts_of(const std::vector<SpecLine>& lines) {
  Texts texts;
  for (const SpecLine& line : lines) texts.push_back(line.text);
  return texts;
}

// That the edit did what it was to do and nothing else.
Result<std::string> read_back(const Editor& editor, const Spec& before, Section section, Texts expected) {
  const std::string text = editor.text();
  auto after = parse_spec(text, before.path);
  if (!after) return cannot_edit(before.path, 0);
  Spec wanted = before;
  if (section == Section::pip && after->conda.size() == before.conda.size() + 1)
    wanted.conda.push_back({"pip", 0});
  Spec& given = *after;
  const Section other = section == Section::conda ? Section::pip : Section::conda;
  const bool same = texts_of(lines_of(given, section)) == expected &&
                    texts_of(lines_of(given, other)) == texts_of(lines_of(wanted, other)) &&
                    given.name == before.name && texts_of(given.channels) == texts_of(before.channels) &&
                    given.variables == before.variables && given.platforms == before.platforms;
  if (!same) return cannot_edit(before.path, 0);
  return text;
}

}  // namespace

Result<std::string> add_to_spec(std::string_view text, const std::string& path, Section section,
                                std::string_view wanted) {
  auto spec = parse_spec(text, path);
  if (!spec) return tl::unexpected(spec.error());
  if (section == Section::conda)
    if (const auto problem = check_match_spec(wanted); problem && problem->fatal)
      return fail(ErrorKind::invalid, problem->cause, problem->hint);
  const std::string name = name_of(section, wanted);
  if (name.empty())
    return fail(ErrorKind::invalid, "'" + printable(wanted) + "' names no package",
                "write it like 'numpy=1.26'");
  Editor editor(text);
  Texts expected = texts_of(lines_of(*spec, section));
  const Spec before = *spec;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (name_of(section, expected[i]) != name) continue;
    const int line = lines_of(*spec, section)[i].line;
    expected[i] = wanted;
    if (!editor.replace(line, wanted)) return cannot_edit(path, line);
    return read_back(editor, before, section, std::move(expected));
  }
  expected.emplace_back(wanted);
  const bool added =
      section == Section::conda ? add_conda(editor, *spec, wanted) : add_pip(editor, *spec, wanted);
  if (!added) return cannot_edit(path, last_line(lines_of(*spec, section)));
  return read_back(editor, before, section, std::move(expected));
}

Result<std::string> remove_from_spec(std::string_view text, const std::string& path, Section section,
                                     std::string_view name) {
  auto spec = parse_spec(text, path);
  if (!spec) return tl::unexpected(spec.error());
  const std::string wanted = name_of(section, name);
  Editor editor(text);
  Texts expected;
  std::vector<int> gone;
  for (const SpecLine& line : lines_of(*spec, section)) {
    if (name_of(section, line.text) == wanted)
      gone.push_back(line.line);
    else
      expected.push_back(line.text);
  }
  if (gone.empty())
    return fail(
        ErrorKind::not_found, "'" + path + "' does not list '" + printable(name) + "'",
        section == Section::conda ? "--pip looks in pip's list" : "without --pip conda's list is looked in");
  std::sort(gone.rbegin(), gone.rend());
  for (const int line : gone) editor.remove(line);
  return read_back(editor, *spec, section, std::move(expected));
}

}  // namespace pinstep
