#include "envtools/piplock/piplock.h"

#include <algorithm>
#include <filesystem>

#include "envtools/base/text.h"
#include "envtools/channel/channel.h"
#include "envtools/piplock/reader.h"
#include "envtools/yaml/toml.h"

namespace pinstep {
namespace {

// The key of "key = value" at the beginning of a line, where values of lists and tables are not.
bool has_line(const std::vector<std::string_view>& lines, std::string_view begin) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](std::string_view line) { return line.starts_with(begin); });
}

bool is_hashed_requirement(const std::vector<std::string_view>& lines) {
  return std::any_of(lines.begin(), lines.end(), [](std::string_view line) {
    line = trim(line);
    return line.starts_with("--hash=") ||
           (line.find(" --hash=") != std::string_view::npos && line.find_first_of("#-") != 0);
  });
}

}  // namespace

PipLockKind pip_lock_kind(std::string_view text) {
  const auto lines = split(text, '\n');
  if (has_line(lines, "lock-version")) return PipLockKind::pylock;
  if (has_line(lines, "[[package]]") && has_line(lines, "version = ")) return PipLockKind::uv;
  return is_hashed_requirement(lines) ? PipLockKind::requirements : PipLockKind::none;
}

std::string archive_url(const YamlNode& archive, const std::string& lock_path) {
  if (const std::string url = text_at(archive, "url"); !url.empty()) return without_credentials(url);
  const std::string path = text_at(archive, "path");
  if (path.empty()) return {};
  const std::filesystem::path directory = std::filesystem::path(lock_path).parent_path();
  return "file://" + percent_encode((directory / path).lexically_normal().string(), "#?");
}

Result<PipLock> parse_pip_lock(std::string_view text, const std::string& path) {
  if (text.size() > kLockSizeLimit) return fail(ErrorKind::invalid, path + ":1: the lock is too long");
  const auto root = parse_toml(text, path);
  if (!root) return tl::unexpected(root.error());
  return root->find("lock-version") != nullptr ? parse_pylock(*root, path) : parse_uv_lock(*root, path);
}

}  // namespace pinstep
