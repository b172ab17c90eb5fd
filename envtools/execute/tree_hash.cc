#include <sys/stat.h>

#include <algorithm>
#include <climits>
#include <filesystem>
#include <limits>
#include <mutex>

#include "envtools/base/fd.h"
#include "envtools/execute/execute.h"
#include "envtools/execute/workers.h"
#include "envtools/hash/hash.h"
#include "envtools/json/json.h"
#include "envtools/plan/prefix.h"

namespace pinstep {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kWholeFile = std::numeric_limits<off_t>::max();
constexpr std::string_view kMeta = "conda-meta/", kOwn = "conda-meta/pinstep",
                           kActivation = "conda-meta/pinstep/activation";

bool is_record(std::string_view path) {
  return path.starts_with(kMeta) && path.ends_with(".json") && path.find('/', kMeta.size()) == path.npos;
}

// Everything below the directory that counts, relative and sorted.
Result<std::vector<std::string>> list_tree(const std::string& directory) {
  std::vector<std::string> paths;
  std::error_code error;
  fs::recursive_directory_iterator at(directory, error), end;
  for (; !error && at != end; at.increment(error)) {
    std::string path = at->path().string().substr(directory.size() + 1);
    const bool own = path == kOwn || path.starts_with(std::string(kOwn) + "/");
    if (!own || path == kActivation) paths.push_back(std::move(path));
  }
  if (error) return fail_errno(error.value(), "list", directory);
  std::sort(paths.begin(), paths.end());
  return paths;
}

struct Placeholder {
  std::string text;
  bool binary = false;
};
using Placeholders = std::map<std::string, Placeholder>;  // by path

// A record without what differs from prefix to prefix and from one source of packages to the next.
std::string canonical_record(Json record) {
  for (const char* key : {"url", "channel"}) record.erase(key);
  for (Json& entry : record["paths_data"]["paths"]) {
    entry.erase("sha256_in_prefix");
    if (entry.value("path_type", "") != "unix_python_entry_point") continue;
    entry.erase("sha256");
    entry.erase("size_in_bytes");
  }
  return dump_json(record);
}

Result<void> take_placeholders(const Json& record, Placeholders& placeholders) {
  for (const Json& entry : record.at("paths_data").at("paths"))
    if (entry.contains("prefix_placeholder"))
      placeholders[entry.at("_path")] = {entry.at("prefix_placeholder"), entry.at("file_mode") == "binary"};
  return {};
}

class TreeHasher {
 public:
  TreeHasher(const std::string& directory, const std::string& prefix,
             const std::map<std::string, std::string>& known)
      : directory_(directory), prefix_(prefix), known_(known) {}

  Result<std::string> run(int jobs) {
    auto paths = list_tree(directory_);
    if (!paths) return tl::unexpected(paths.error());
    if (auto read = read_records(*paths); !read) return tl::unexpected(read.error());
    std::vector<std::string> lines(paths->size());
    auto ran = run_workers(paths->size(), jobs, [&](std::size_t i) -> Result<void> {
      auto line = line_of((*paths)[i]);
      if (!line) return tl::unexpected(line.error());
      lines[i] = std::move(*line);
      return {};
    });
    if (!ran) return tl::unexpected(ran.error());
    Hasher hasher;
    hasher.update("pinstep-tree 1\n");
    for (const std::string& line : lines) hasher.update(line);
    return hasher.hex();
  }

 private:
  Result<void> read_records(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      if (!is_record(path)) continue;
      auto content = read_file(directory_ + "/" + path, kWholeFile);
      if (!content) return tl::unexpected(content.error());
      try {
        const Json record = Json::parse(content->text);
        if (auto taken = take_placeholders(record, placeholders_); !taken) return taken;
        records_[path] = sha256_hex(canonical_record(record));
      } catch (const Json::exception&) {
        return fail(ErrorKind::corrupt, "'" + directory_ + "/" + path + "' is not a package's record");
      }
    }
    return {};
  }

  // path NUL mode NUL type NUL value LF; a directory has neither mode nor value.
  Result<std::string> line_of(const std::string& path) const {
    const std::string full = directory_ + "/" + path;
    struct stat info {};
    if (::lstat(full.c_str(), &info) != 0) return fail_errno(errno, "inspect", full);
    const auto line = [&](std::string_view mode, char type, std::string_view value) {
      return path + '\0' + std::string(mode) + '\0' + type + '\0' + std::string(value) + '\n';
    };
    if (S_ISDIR(info.st_mode)) return line("", 'd', "");
    if (S_ISLNK(info.st_mode)) {
      std::error_code error;
      const std::string text = fs::read_symlink(full, error).string();
      if (error) return fail_errno(error.value(), "read the link", full);
      return line("", 'l', text);
    }
    if (!S_ISREG(info.st_mode)) return fail(ErrorKind::corrupt, "'" + full + "' is neither a file nor a link");
    auto digest = digest_of(path, full);
    if (!digest) return tl::unexpected(digest.error());
    char mode[8];
    std::snprintf(mode, sizeof mode, "%04o", info.st_mode & 07777u);
    return line(mode, 'f', *digest);
  }

  Result<std::string> digest_of(const std::string& path, const std::string& full) const {
    if (const auto record = records_.find(path); record != records_.end()) return record->second;
    const auto placeholder = placeholders_.find(path);
    const bool holds_prefix = placeholder != placeholders_.end();
    const bool in_bin = path.starts_with("bin/");
    if (!holds_prefix && !in_bin && path != kActivation) {
      const auto known = known_.find(path);
      return known == known_.end() ? hash_file(full) : known->second;
    }
    auto content = read_file(full, kWholeFile);
    if (!content) return tl::unexpected(content.error());
    const std::string& text = content->text;
    if (holds_prefix && placeholder->second.binary)
      return sha256_hex(restore_binary(text, placeholder->second.text, prefix_));
    // Scripts in bin: entry points, and what wheels have there.
    if (holds_prefix || path == kActivation || text.starts_with("#!"))
      return sha256_hex(canonical_text(text, prefix_));
    return sha256_hex(text);
  }

  const std::string& directory_;
  const std::string& prefix_;
  const std::map<std::string, std::string>& known_;
  Placeholders placeholders_;
  std::map<std::string, std::string> records_;  // path → digest
};

}  // namespace

Result<std::string> tree_hash(const std::string& directory, const std::string& prefix, int jobs,
                              const std::map<std::string, std::string>& known) {
  return TreeHasher(directory, prefix, known).run(jobs);
}

}  // namespace pinstep
