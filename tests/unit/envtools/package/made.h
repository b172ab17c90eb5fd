// Archives made by hand, byte by byte: packers would not make the bad ones.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pinstep::made {

struct Member {
  std::string name;
  std::string content = {};
  char type = '0';        // of ustar: 0 file, 1 hard link, 2 symbolic link, 3 device, 5 directory, 6 FIFO
  std::string link = {};  // target
  unsigned mode = 0644;
  std::int64_t mtime = 1000000000;
};

// With "" or "x" members as they are given: nothing is checked.
std::string tar(const std::vector<Member>& members);
std::string zstd(std::string_view text);
std::string bzip2(std::string_view text);

struct ZipPart {
  std::string name;
  std::string content;
};
enum class ZipKind { plain, descriptors, zip64 };
std::string zip(const std::vector<ZipPart>& parts, ZipKind kind = ZipKind::plain);

std::string sha256(std::string_view content);
// {"_path": …} of paths.json for a file with this content.
std::string path_json(std::string_view path, std::string_view content);

// A .conda: payload, and info/index.json (x-1-0) and info/paths.json of these entries.
std::string conda(const std::vector<Member>& payload, const std::vector<std::string>& paths);

}  // namespace pinstep::made
