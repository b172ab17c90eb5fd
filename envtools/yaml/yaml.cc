#include "envtools/yaml/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <sstream>

#include "envtools/base/text.h"

namespace pinstep {
namespace {

constexpr std::size_t kDepthLimit = 64;
constexpr std::size_t kCopyLimit = 10'000;  // nodes; a few lines of aliases to aliases ask for billions

std::size_t node_count(const YamlNode& node) {
  return std::accumulate(node.items.begin(), node.items.end(), std::size_t{1},
                         [](std::size_t sum, const YamlNode& item) { return sum + node_count(item); });
}

// Escapes can make what the file itself may not have: yaml-cpp turns "\N" into a byte that is no UTF-8.
bool is_text(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_character(text);
    if (length == 0 || text.front() == '\0') return false;
    text.remove_prefix(length);
  }
  return true;
}

// Puts the tree together. What it refuses leaves yaml-cpp's parser the only way there is, by its exception,
// which parse_yaml() catches.
class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(std::string_view text) : text_(text) {}

  YamlNode take_root() { return std::move(root_); }

 private:
  // A map or sequence whose end has not come.
  struct Open {
    YamlNode node;
    YAML::anchor_t anchor = 0;
    std::optional<YamlKey> key;  // of a map: the one whose value comes next
  };

  void OnDocumentStart(const YAML::Mark& mark) override { root_.line = mark.line + 1; }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    YamlNode node = node_at(mark, YamlNode::Kind::null);
    node.line -= lines_since_content(mark);
    add(std::move(node), anchor, mark);
  }

  // A value that is not there is reported at what comes after it, which may be many lines later.
  int lines_since_content(const YAML::Mark& mark) const {
    const auto at = std::min(static_cast<std::size_t>(std::max(mark.pos, 0)), text_.size());
    if (std::string_view("~nN").find(text_.substr(at, 1)) != std::string_view::npos && at < text_.size())
      return 0;
    const std::size_t last = text_.substr(0, at).find_last_not_of(" \t\r\n");
    if (last == std::string_view::npos) return 0;
    return static_cast<int>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(last),
                                       text_.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    if (!is_text(value)) throw YAML::ParserException(mark, "an escape that stands for no text");
    YamlNode node = node_at(mark, YamlNode::Kind::scalar);
    node.text = value;
    node.quoted = tag == "!";
    add(std::move(node), anchor, mark);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchored_.find(anchor);
    if (found == anchored_.end()) throw YAML::ParserException(mark, "an alias inside of what it stands for");
    copied_ += node_count(found->second);
    if (copied_ > kCopyLimit) throw YAML::ParserException(mark, "too many aliases");
    add(YamlNode(found->second), 0, mark);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(node_at(mark, YamlNode::Kind::sequence), anchor, mark);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(node_at(mark, YamlNode::Kind::map), anchor, mark);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override {
    check_keys(open_.back().node.keys);
    close();
  }

  static YamlNode node_at(const YAML::Mark& mark, YamlNode::Kind kind) {
    YamlNode node;
    node.kind = kind;
    node.line = mark.line + 1;
    return node;
  }

  void open(YamlNode node, YAML::anchor_t anchor, const YAML::Mark& mark) {
    if (open_.size() == kDepthLimit) throw YAML::ParserException(mark, "too many levels");
    if (!open_.empty() && open_.back().node.is_map() && !open_.back().key)
      throw YAML::ParserException(mark, "a key that is a list or a map");
    open_.push_back({std::move(node), anchor, {}});
  }

  void close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    YAML::Mark mark;
    mark.line = done.node.line - 1;
    add(std::move(done.node), done.anchor, mark);
  }

  void add(YamlNode node, YAML::anchor_t anchor, const YAML::Mark& mark) {
    if (anchor != 0) anchored_[anchor] = node;
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = open_.back();
    if (parent.node.is_map() && !parent.key) {
      if (node.is_sequence() || node.is_map())
        throw YAML::ParserException(mark, "a key that is a list or a map");
      if (node.text == "<<" && !node.quoted)
        throw YAML::ParserException(mark, "a merge key '<<', which pinstep does not read");
      parent.key = YamlKey{std::move(node.text), node.line};
      return;
    }
    if (parent.key) parent.node.keys.push_back(*std::exchange(parent.key, std::nullopt));
    parent.node.items.push_back(std::move(node));
  }

  static void check_keys(const std::vector<YamlKey>& keys) {
    std::vector<const YamlKey*> sorted;
    for (const YamlKey& key : keys) sorted.push_back(&key);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const YamlKey* a, const YamlKey* b) { return a->text < b->text; });
    const auto twice = std::adjacent_find(
        sorted.begin(), sorted.end(), [](const YamlKey* a, const YamlKey* b) { return a->text == b->text; });
    if (twice == sorted.end()) return;
    YAML::Mark mark;
    mark.line = twice[1]->line - 1;
    throw YAML::ParserException(
        mark, "the key '" + twice[1]->text + "' stands in line " + std::to_string(twice[0]->line) + " already");
  }

  std::string_view text_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, YamlNode> anchored_;
  std::size_t copied_ = 0;
  YamlNode root_;
};

// yaml-cpp says "end of map not found" and the like where a tab was meant to indent.
std::optional<int> tab_before(std::string_view text, int last_line) {
  int number = 0;
  for (const std::string_view line : split(text, '\n')) {
    if (++number > last_line) break;
    const std::size_t content = line.find_first_not_of(" \t\r");
    if (content != std::string_view::npos && line.substr(0, content).find('\t') != std::string_view::npos)
      return number;
  }
  return {};
}

tl::unexpected<Error> fail_yaml(std::string_view text, const std::string& path, int line,
                                const std::string& problem) {
  if (const auto tab = tab_before(text, line + 1))
    return fail(ErrorKind::invalid, location(path, *tab) + "a tab indents this line",
                "YAML is indented by spaces only");
  return fail(ErrorKind::invalid, location(path, line) + printable(problem));
}

}  // namespace

const YamlNode* YamlNode::find(std::string_view key) const {
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (keys[i].text == key) return &items[i];
  return nullptr;
}

std::string text_at(const YamlNode& node, std::string_view key) {
  const YamlNode* value = node.find(key);
  return value != nullptr && value->is_scalar() ? value->text : std::string();
}

Result<YamlNode> parse_yaml(std::string_view text, const std::string& path) {
  const auto decoded = decode_text(text, path);
  if (!decoded) return tl::unexpected(decoded.error());
  std::istringstream stream(*decoded);
  try {
    YAML::Parser parser(stream);
    TreeBuilder builder(*decoded);
    if (!parser.HandleNextDocument(builder)) return YamlNode{};
    TreeBuilder second(*decoded);
    if (parser.HandleNextDocument(second))
      return fail(ErrorKind::invalid, location(path, second.take_root().line) + "a second document begins");
    return builder.take_root();
  } catch (const YAML::Exception& problem) {
    return fail_yaml(*decoded, path, std::max(problem.mark.line, 0) + 1, problem.msg);
  }
}

std::string yaml_scalar(std::string_view text) {
  static constexpr std::string_view kWords[] = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"};
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto within = [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') ||
           std::string_view("_./+-:@%=").find(c) != std::string_view::npos;
  };
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  const bool plain = !text.empty() && (letter(text.front()) || text.front() == '_' || text.front() == '/') &&
                     std::all_of(text.begin(), text.end(), within) && !text.ends_with(':') &&
                     std::find(std::begin(kWords), std::end(kWords), lower) == std::end(kWords);
  if (plain) return std::string(text);

  const auto printable_ascii = [](char c) { return c >= 0x20 && c < 0x7f; };
  std::string quoted;
  if (std::all_of(text.begin(), text.end(), printable_ascii)) {
    for (const char c : text) quoted += c == '\'' ? std::string("''") : std::string(1, c);
    return "'" + quoted + "'";
  }
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(utf8_character(text), 1);
    char32_t c = static_cast<unsigned char>(text.front());
    if (length > 1) c &= 0x7fu >> length;
    for (std::size_t i = 1; i < length; ++i) c = c << 6 | (static_cast<unsigned char>(text[i]) & 0x3f);
    char escaped[16];
    if (c == '"' || c == '\\')
      std::snprintf(escaped, sizeof escaped, "\\%c", static_cast<char>(c));
    else if (c >= 0x20 && c < 0x7f)
      std::snprintf(escaped, sizeof escaped, "%c", static_cast<char>(c));
    else if (c == '\n')
      std::snprintf(escaped, sizeof escaped, "\\n");
    else
      std::snprintf(escaped, sizeof escaped,
                    c < 0x100     ? "\\x%02x"
                    : c < 0x10000 ? "\\u%04x"
                                  : "\\U%08x",
                    static_cast<unsigned>(c));
    quoted += escaped;
    text.remove_prefix(length);
  }
  return '"' + quoted + '"';
}

}  // namespace pinstep
