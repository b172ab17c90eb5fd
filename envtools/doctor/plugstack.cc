#include "envtools/doctor/plugstack.h"

#include <glob.h>

#include <filesystem>

#include "envtools/base/fd.h"
#include "envtools/base/text.h"

namespace pinstep::doctor {
namespace {

constexpr std::size_t kFileLimit = 1 << 20;  // bytes
constexpr int kDeepest = 8;                  // an include of an include of …; Slurm has no limit

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  for (std::size_t begin = line.find_first_not_of(" \t\r"); begin != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(" \t\r", begin), line.size());
    words.emplace_back(line.substr(begin, end - begin));
    begin = line.find_first_not_of(" \t\r", end);
  }
  return words;
}

std::vector<std::string> files_of(const std::string& pattern, const std::string& including) {
  const auto directory = std::filesystem::path(including).parent_path();
  glob_t found{};
  std::vector<std::string> files;
  if (::glob((directory / pattern).c_str(), 0, nullptr, &found) == 0)
    files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return files;
}

Result<void> read_into(Plugstack& all, const std::string& path, int depth) {
  const auto file = read_file(path, kFileLimit, Links::followed);
  if (!file) return tl::unexpected(file.error());
  Plugstack own = parse_plugstack(file->text, path);
  all.plugins.insert(all.plugins.end(), own.plugins.begin(), own.plugins.end());
  if (depth == kDeepest && !own.includes.empty())
    return fail(ErrorKind::corrupt, "'" + path + "' is included too deeply");
  for (const std::string& pattern : own.includes)
    for (const std::string& included : files_of(pattern, path))
      if (auto done = read_into(all, included, depth + 1); !done) return done;
  return {};
}

}  // namespace

Plugstack parse_plugstack(std::string_view text, std::string_view path) {
  Plugstack plugstack;
  std::size_t number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    std::vector<std::string> words = words_of(line);
    if (words.size() < 2 || words[0].starts_with('#')) continue;
    if (words[0] == "include") plugstack.includes.push_back(words[1]);
    if (words[0] != "optional" && words[0] != "required") continue;
    plugstack.plugins.push_back({words[0],
                                 words[1],
                                 {words.begin() + 2, words.end()},
                                 std::string(path) + ":" + std::to_string(number)});
  }
  return plugstack;
}

Result<Plugstack> read_plugstack(const std::string& path) {
  Plugstack plugstack;
  if (auto done = read_into(plugstack, path, 0); !done) return tl::unexpected(done.error());
  return plugstack;
}

bool is_ours(const PluginLine& line) {
  const std::string name = std::filesystem::path(line.path).filename();
  return name.starts_with("pinstep") && name.ends_with(".so");
}

}  // namespace pinstep::doctor
