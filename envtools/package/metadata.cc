#include "envtools/package/metadata.h"

#include <algorithm>
#include <map>

#include "envtools/base/text.h"
#include "envtools/hash/hash.h"
#include "envtools/package/names.h"

namespace pinstep {
namespace {

tl::unexpected<Error> corrupt(std::string_view where, const std::string& why) {
  return fail(ErrorKind::corrupt, "'" + std::string(where) + "' " + why);
}

tl::unexpected<Error> unsafe(std::string_view where, const std::string& what, std::string_view value) {
  return fail(ErrorKind::refused, "'" + std::string(where) + "' has " + what + " '" + printable(value) + "'",
              "such a name could lead out of the prefix");
}

Result<Json> parse_object(std::string_view text, std::string_view where) {
  auto json = parse_json(text, "'" + std::string(where) + "'");
  if (!json) return fail(ErrorKind::corrupt, json.error().cause);
  if (!json->is_object()) return corrupt(where, "is no JSON object");
  return json;
}

bool flag_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

std::vector<std::string> texts_of(const Json& object, const char* key) {
  std::vector<std::string> texts;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return texts;
  for (const Json& item : *found)
    if (item.is_string()) texts.push_back(item.get<std::string>());
  return texts;
}

// `true` is what recipes wrote before there were kinds.
Noarch noarch_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return Noarch::no;
  if (found->is_boolean()) return found->get<bool>() ? Noarch::generic : Noarch::no;
  if (*found == "python") return Noarch::python;
  return *found == "generic" ? Noarch::generic : Noarch::no;
}

Result<PackagePath> path_of(const Json& entry, std::string_view where) {
  if (!entry.is_object()) return corrupt(where, "has a path that is no object");
  PackagePath path;
  path.path = text_of(entry, "_path");
  if (!is_inner_path(path.path)) return unsafe(where, "a path", path.path);
  const std::string type = text_of(entry, "path_type");
  if (type == "softlink")
    path.type = PackagePath::Type::symlink;
  else if (type == "directory")
    path.type = PackagePath::Type::directory;
  else if (type != "hardlink")
    return fail(ErrorKind::unsupported, "'" + std::string(where) + "' gives '" + printable(path.path) +
                                            "' the unknown type '" + printable(type) + "'");
  path.sha256 = text_of(entry, "sha256");
  if (!path.sha256.empty() && !is_hex(path.sha256, 64))
    return corrupt(where, "has a bad sha256 for '" + printable(path.path) + "'");
  path.size = number_of(entry, "size_in_bytes");
  path.no_link = flag_of(entry, "no_link");
  if (path.type != PackagePath::Type::file) return path;

  path.placeholder = text_of(entry, "prefix_placeholder");
  if (path.placeholder.empty()) return path;
  const std::string mode = text_of(entry, "file_mode");
  if (mode != "text" && mode != "binary")
    return corrupt(where, "does not say whether '" + printable(path.path) + "' is text or binary");
  path.mode = mode == "text" ? PackagePath::Mode::text : PackagePath::Mode::binary;
  return path;
}

bool same(const PackagePath& a, const PackagePath& b) {
  return a.type == b.type && a.sha256 == b.sha256 && a.size == b.size && a.placeholder == b.placeholder &&
         a.mode == b.mode && a.no_link == b.no_link;
}

Result<std::vector<PackagePath>> sorted(std::vector<PackagePath> paths, std::string_view where) {
  std::sort(paths.begin(), paths.end(),
            [](const PackagePath& a, const PackagePath& b) { return a.path < b.path; });
  for (std::size_t i = 1; i < paths.size(); ++i)
    if (paths[i - 1].path == paths[i].path && !same(paths[i - 1], paths[i]))
      return corrupt(where, "lists '" + printable(paths[i].path) + "' twice, in different ways");
  paths.erase(std::unique(paths.begin(), paths.end(),
                          [](const PackagePath& a, const PackagePath& b) { return a.path == b.path; }),
              paths.end());
  return paths;
}

// Lines without those that are empty or comments.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::string_view line : split(text, '\n')) {
    line = trim(line);
    if (!line.empty() && line.front() != '#') lines.push_back(line);
  }
  return lines;
}

// Words between blanks; a word in quotes may have blanks in it.
std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  while (!(line = trim(line)).empty()) {
    const bool quoted = line.front() == '"' || line.front() == '\'';
    const std::size_t from = quoted ? 1 : 0;
    const std::size_t end = quoted ? line.find(line.front(), 1) : line.find_first_of(" \t");
    words.emplace_back(line.substr(from, end == std::string_view::npos ? end : end - from));
    line.remove_prefix(end == std::string_view::npos ? line.size() : end + from);
  }
  return words;
}

struct OldPrefix {
  std::string placeholder;
  PackagePath::Mode mode;
};

Result<std::map<std::string, OldPrefix>> parse_has_prefix(std::string_view text, std::string_view where) {
  std::map<std::string, OldPrefix> prefixes;
  for (const std::string_view line : lines_of(text)) {
    const auto words = words_of(line);
    if (words.size() == 1) {  // the prefix that Anaconda's first build machine had
      prefixes[words[0]] = {"/opt/anaconda1anaconda2anaconda3", PackagePath::Mode::text};
    } else if (words.size() == 3 && !words[0].empty() && (words[1] == "text" || words[1] == "binary")) {
      const bool is_text = words[1] == "text";
      prefixes[words[2]] = {words[0], is_text ? PackagePath::Mode::text : PackagePath::Mode::binary};
    } else {
      return corrupt(where, "has a line in has_prefix that means nothing: '" + printable(line) + "'");
    }
  }
  return prefixes;
}

}  // namespace

std::optional<std::uint64_t> package_format_version(std::string_view metadata_json) {
  const auto json = parse_object(metadata_json, "metadata.json");
  if (!json || number_of(*json, "conda_pkg_format_version") == 0) return std::nullopt;
  return number_of(*json, "conda_pkg_format_version");
}

Result<std::vector<PackagePath>> parse_paths(std::string_view paths_json, std::string_view where) {
  const auto json = parse_object(paths_json, where);
  if (!json) return tl::unexpected(json.error());
  if (number_of(*json, "paths_version") != 1)
    return fail(ErrorKind::unsupported, "'" + std::string(where) + "' is not of version 1");
  const auto list = json->find("paths");
  if (list == json->end() || !list->is_array()) return corrupt(where, "has no list 'paths'");
  std::vector<PackagePath> paths;
  for (const Json& entry : *list) {
    auto path = path_of(entry, where);
    if (!path) return tl::unexpected(path.error());
    paths.push_back(std::move(*path));
  }
  return sorted(std::move(paths), where);
}

Result<std::vector<PackagePath>> parse_old_paths(std::string_view files, std::string_view has_prefix,
                                                 std::string_view no_link, std::string_view where) {
  const auto prefixes = parse_has_prefix(has_prefix, where);
  if (!prefixes) return tl::unexpected(prefixes.error());
  const auto copied = lines_of(no_link);
  std::vector<PackagePath> paths;
  for (const std::string_view line : lines_of(files)) {
    if (!is_inner_path(line)) return unsafe(where, "a path", line);
    PackagePath path;
    path.path = line;
    path.no_link = std::find(copied.begin(), copied.end(), line) != copied.end();
    if (const auto prefix = prefixes->find(path.path); prefix != prefixes->end()) {
      path.placeholder = prefix->second.placeholder;
      path.mode = prefix->second.mode;
    }
    paths.push_back(std::move(path));
  }
  return sorted(std::move(paths), where);
}

Result<PackageInfo> parse_index(std::string_view index_json, std::string_view where) {
  const auto json = parse_object(index_json, where);
  if (!json) return tl::unexpected(json.error());
  PackageInfo info;
  info.name = text_of(*json, "name");
  info.version = text_of(*json, "version");
  info.build = text_of(*json, "build");
  if (info.build.empty() && json->contains("build_number"))  // the build string of very old packages
    info.build = std::to_string(number_of(*json, "build_number"));
  for (const auto& [what, value] : {std::pair<const char*, const std::string&>{"the name", info.name},
                                    {"the version", info.version},
                                    {"the build", info.build}})
    if (value.empty())
      return corrupt(where, "does not give " + std::string(what) + " of the package");
    else if (!is_safe_part(value))
      return unsafe(where, what, value);
  info.build_number = number_of(*json, "build_number");
  info.subdir = text_of(*json, "subdir");
  info.noarch = noarch_of(*json, "noarch");
  info.depends = texts_of(*json, "depends");
  info.python_site_packages_path = text_of(*json, "python_site_packages_path");
  if (!info.python_site_packages_path.empty() && !is_inner_path(info.python_site_packages_path))
    return unsafe(where, "python_site_packages_path", info.python_site_packages_path);
  // Milliseconds, and seconds before 2017: conda's own border is the year 9999 in seconds.
  constexpr std::uint64_t kLastSecond = 253402300799;
  const std::uint64_t timestamp = number_of(*json, "timestamp");
  info.timestamp = static_cast<std::int64_t>(timestamp > kLastSecond ? timestamp / 1000 : timestamp);
  info.index_json = index_json;
  return info;
}

Result<void> add_link_json(PackageInfo& info, std::string_view link_json, std::string_view where) {
  const auto json = parse_object(link_json, where);
  if (!json) return tl::unexpected(json.error());
  const auto noarch = json->find("noarch");
  if (noarch == json->end() || !noarch->is_object()) return {};
  if (info.noarch == Noarch::no) info.noarch = noarch_of(*noarch, "type");
  for (const std::string& text : texts_of(*noarch, "entry_points")) {
    auto point = parse_entry_point(text, where);
    if (!point) return tl::unexpected(point.error());
    info.entry_points.push_back(std::move(*point));
  }
  return {};
}

Result<EntryPoint> parse_entry_point(std::string_view text, std::string_view where) {
  const auto halves = split_once(text, '=');
  const auto target = halves ? split_once(halves->after, ':') : std::nullopt;
  if (!target) return unsafe(where, "the entry point", text);
  const EntryPoint point{std::string(trim(halves->before)), std::string(trim(target->before)),
                         std::string(trim(target->after))};
  if (!is_command_name(point.command) || !is_identifier_chain(point.module) ||
      !is_identifier_chain(point.function))
    return unsafe(where, "the entry point", text);
  return point;
}

}  // namespace pinstep
