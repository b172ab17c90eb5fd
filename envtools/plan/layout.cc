#include "envtools/plan/layout.h"

#include <algorithm>

#include "envtools/base/text.h"

namespace pinstep {
namespace {

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

constexpr int kLinkLimit = 40;  // links followed for one path, as Linux does

}  // namespace

std::optional<std::size_t> Layout::obstacle_above(const std::string& path) const {
  for (std::string above = parent_of(path); !above.empty(); above = parent_of(above)) {
    if (directories_.contains(above)) return std::nullopt;  // then so is everything above it
    if (const auto file = by_path_.find(above); file != by_path_.end()) return file->second;
  }
  return std::nullopt;
}

void Layout::claim_directories(const std::string& path, std::size_t file) {
  for (std::string directory = path; !directory.empty(); directory = parent_of(directory))
    if (!directories_.emplace(directory, file).second) return;
}

std::optional<std::size_t> Layout::add(PlannedFile file) {
  if (const auto same = by_path_.find(file.path); same != by_path_.end()) return same->second;
  if (const auto below = directories_.find(file.path); below != directories_.end()) return below->second;
  if (const auto above = obstacle_above(file.path)) return above;
  claim_directories(parent_of(file.path), files_.size());
  by_path_.emplace(file.path, files_.size());
  files_.push_back(std::move(file));
  return std::nullopt;
}

std::optional<std::size_t> Layout::add_directory(const std::string& path) {
  if (const auto same = by_path_.find(path); same != by_path_.end()) return same->second;
  if (const auto above = obstacle_above(path)) return above;
  claim_directories(path, kNoOwner);
  return std::nullopt;
}

const PlannedFile* Layout::find(const std::string& path) const {
  const auto found = by_path_.find(path);
  return found == by_path_.end() ? nullptr : &files_[found->second];
}

bool Layout::stays_inside(const PlannedFile& link) const {
  const auto pieces_of = [](std::string_view text) {
    std::vector<std::string> pieces;
    for (std::string_view piece : split(text, '/')) pieces.emplace_back(piece);
    std::reverse(pieces.begin(), pieces.end());
    return pieces;
  };
  if (link.content.starts_with('/')) return false;
  std::string at = parent_of(link.path);
  std::vector<std::string> todo = pieces_of(link.content);
  for (int links = 0; !todo.empty();) {
    const std::string piece = std::move(todo.back());
    todo.pop_back();
    if (piece.empty() || piece == ".") continue;
    if (piece == "..") {
      if (at.empty()) return false;
      at = parent_of(at);
      continue;
    }
    const std::string next = at.empty() ? piece : at + "/" + piece;
    const PlannedFile* file = find(next);
    if (file == nullptr || file->kind != PlannedFile::Kind::symlink) {
      at = next;
      continue;
    }
    if (++links > kLinkLimit) return true;
    if (file->content.starts_with('/')) return false;
    const std::vector<std::string> more = pieces_of(file->content);
    todo.insert(todo.end(), more.begin(), more.end());
  }
  return true;
}

std::vector<std::string> Layout::directories() const {
  std::vector<std::string> result;
  for (const auto& [path, file] : directories_) result.push_back(path);
  std::sort(result.begin(), result.end());
  return result;
}

std::vector<PlannedFile> Layout::take_files() && {
  std::sort(files_.begin(), files_.end(),
            [](const PlannedFile& a, const PlannedFile& b) { return a.path < b.path; });
  return std::move(files_);
}

}  // namespace pinstep
