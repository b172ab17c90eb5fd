#include "tests/unit/envtools/package/made.h"

#include <archive.h>
#include <archive_entry.h>
#include <zstd.h>

#include <cstdio>
#include <cstring>

#include "envtools/hash/hash.h"

namespace pinstep::made {
namespace {

std::string number(std::uint64_t value, std::size_t size) {
  std::string bytes;
  for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}

void put_octal(std::string& block, std::size_t at, std::size_t size, std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "%0*llo", static_cast<int>(size - 1),
                static_cast<unsigned long long>(value));
  block.replace(at, size - 1, text);
}

std::string header(const Member& member) {
  std::string block(512, '\0');
  block.replace(0, std::min<std::size_t>(member.name.size(), 100), member.name.substr(0, 100));
  put_octal(block, 100, 8, member.mode);
  put_octal(block, 108, 8, 0);
  put_octal(block, 116, 8, 0);
  put_octal(block, 124, 12, member.type == '0' || member.type == 'x' ? member.content.size() : 0);
  put_octal(block, 136, 12, static_cast<std::uint64_t>(member.mtime));
  block[156] = member.type;
  block.replace(157, std::min<std::size_t>(member.link.size(), 100), member.link.substr(0, 100));
  block.replace(257, 8,
                std::string("ustar\0"
                            "00",
                            8));
  block.replace(148, 8, 8, ' ');
  unsigned sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  put_octal(block, 148, 7, sum);
  return block;
}

}  // namespace

std::string tar(const std::vector<Member>& members) {
  std::string text;
  for (const Member& member : members) {
    text += header(member);
    if (member.type != '0' && member.type != 'x') continue;
    text += member.content;
    text.append((512 - member.content.size() % 512) % 512, '\0');
  }
  return text + std::string(1024, '\0');
}

std::string zstd(std::string_view text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 1));
  return packed;
}

std::string bzip2(std::string_view text) {
  struct archive* out = archive_write_new();
  archive_write_add_filter_bzip2(out);
  archive_write_set_format_raw(out);
  std::string packed(text.size() + 4096, '\0');
  std::size_t used = 0;
  archive_write_open_memory(out, packed.data(), packed.size(), &used);
  struct archive_entry* entry = archive_entry_new();
  archive_entry_set_filetype(entry, AE_IFREG);
  archive_write_header(out, entry);
  archive_write_data(out, text.data(), text.size());
  archive_write_close(out);
  archive_write_free(out);
  archive_entry_free(entry);
  packed.resize(used);
  return packed;
}

std::string zip(const std::vector<ZipPart>& parts, ZipKind kind) {
  const std::uint64_t flags = kind == ZipKind::descriptors ? 8 : 0;
  const bool wide = kind == ZipKind::zip64;
  std::string text;
  std::string directory;
  for (const ZipPart& part : parts) {
    const std::uint64_t size = part.content.size();
    const std::uint64_t offset = text.size();
    const std::string extra =
        wide ? number(1, 2) + number(24, 2) + number(size, 8) + number(size, 8) + number(offset, 8) : "";
    const std::uint64_t shown = wide ? 0xffffffff : size;
    const std::uint64_t local = kind == ZipKind::descriptors ? 0 : shown;
    text += "PK\3\4" + number(45, 2) + number(flags, 2) + number(0, 2) + number(0, 8) + number(local, 4) +
            number(local, 4) + number(part.name.size(), 2) + number(extra.size(), 2) + part.name + extra +
            part.content;
    if (kind == ZipKind::descriptors) text += "PK\7\10" + number(0, 4) + number(size, 4) + number(size, 4);
    directory += "PK\1\2" + number(45, 2) + number(45, 2) + number(flags, 2) + number(0, 2) + number(0, 8) +
                 number(shown, 4) + number(shown, 4) + number(part.name.size(), 2) + number(extra.size(), 2) +
                 number(0, 2) + number(0, 2) + number(0, 2) + number(0, 4) +
                 number(wide ? 0xffffffff : offset, 4) + part.name + extra;
  }
  const std::uint64_t at = text.size();
  text += directory;
  if (wide)
    text += "PK\6\6" + number(44, 8) + number(45, 2) + number(45, 2) + number(0, 8) + number(parts.size(), 8) +
            number(parts.size(), 8) + number(directory.size(), 8) + number(at, 8) + "PK\6\7" + number(0, 4) +
            number(at + directory.size(), 8) + number(1, 4);
  return text + "PK\5\6" + number(0, 4) + number(parts.size(), 2) + number(parts.size(), 2) +
         number(wide ? 0xffffffff : directory.size(), 4) + number(wide ? 0xffffffff : at, 4) + number(0, 2);
}

std::string sha256(std::string_view content) { return sha256_hex(content); }

std::string path_json(std::string_view path, std::string_view content) {
  return R"({"_path": ")" + std::string(path) + R"(", "path_type": "hardlink", "sha256": ")" + sha256(content) +
         R"(", "size_in_bytes": )" + std::to_string(content.size()) + "}";
}

std::string conda(const std::vector<Member>& payload, const std::vector<std::string>& paths) {
  std::string list;
  for (const std::string& path : paths) list += (list.empty() ? "" : ", ") + path;
  const std::string info = tar({{"info/index.json", R"({"name": "x", "version": "1", "build": "0"})"},
                                {"info/paths.json", R"({"paths_version": 1, "paths": [)" + list + "]}"}});
  return zip({{"metadata.json", R"({"conda_pkg_format_version": 2})"},
              {"pkg-x-1-0.tar.zst", zstd(tar(payload))},
              {"info-x-1-0.tar.zst", zstd(info)}});
}

}  // namespace pinstep::made
