#include "envtools/package/zip.h"

#include <algorithm>
#include <optional>

namespace pinstep {
namespace {

// Numbers of APPNOTE.TXT, sections 4.3.7 (local header) to 4.3.16 (end of central directory).
constexpr std::size_t kEndSize = 22;
constexpr std::size_t kLocatorSize = 20;
constexpr std::size_t kEnd64Size = 56;
constexpr std::size_t kEntrySize = 46;
constexpr std::size_t kLocalSize = 30;
constexpr std::uint64_t kCommentLimit = 0xffff;
constexpr std::uint64_t kDirectoryLimit = 1 << 20;  // a package has three members
constexpr std::uint64_t kSeeZip64 = 0xffffffff;

// Little-endian; the caller has made sure that the bytes are there.
std::uint64_t number(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

struct Directory {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

class Reader {
 public:
  Reader(const ReadAt& read, std::uint64_t file_size, std::string_view subject)
      : read_(read), file_size_(file_size), subject_(subject) {}

  Result<std::vector<ZipMember>> members() {
    const auto directory = find_directory();
    if (!directory) return tl::unexpected(directory.error());
    const auto bytes = read(directory->offset, directory->size);
    if (!bytes) return tl::unexpected(bytes.error());
    std::vector<ZipMember> members;
    std::string_view rest = *bytes;
    while (!rest.empty()) {
      auto member = take_member(rest);
      if (!member) return tl::unexpected(member.error());
      members.push_back(std::move(*member));
    }
    return members;
  }

 private:
  tl::unexpected<Error> corrupt(std::string_view why) const {
    return fail(ErrorKind::corrupt,
                "'" + std::string(subject_) + "' is no whole zip file: " + std::string(why));
  }

  Result<std::string> read(std::uint64_t offset, std::uint64_t size) const {
    if (offset > file_size_ || size > file_size_ - offset) return corrupt("it ends too early");
    return read_(offset, static_cast<std::size_t>(size));
  }

  Result<Directory> find_directory() const {
    const std::uint64_t tail_size = std::min<std::uint64_t>(file_size_, kEndSize + kCommentLimit);
    const auto tail = read(file_size_ - tail_size, tail_size);
    if (!tail) return tl::unexpected(tail.error());
    // The last place where the signature stands and the comment's length fits.
    std::size_t at = tail->rfind("PK\5\6");
    while (at != std::string::npos &&
           (tail->size() - at < kEndSize || number(*tail, at + 20, 2) != tail->size() - at - kEndSize))
      at = at == 0 ? std::string::npos : tail->rfind("PK\5\6", at - 1);
    if (at == std::string::npos) return corrupt("it has no directory");

    Directory directory{number(*tail, at + 16, 4), number(*tail, at + 12, 4)};
    if (directory.offset == kSeeZip64 || directory.size == kSeeZip64 || number(*tail, at + 10, 2) == 0xffff) {
      const auto wide = find_directory64(file_size_ - tail_size + at);
      if (!wide) return wide;
      directory = *wide;
    }
    if (directory.size > kDirectoryLimit) return corrupt("its directory is too long");
    return directory;
  }

  Result<Directory> find_directory64(std::uint64_t end) const {
    if (end < kLocatorSize) return corrupt("its zip64 directory is missing");
    const auto locator = read(end - kLocatorSize, kLocatorSize);
    if (!locator) return tl::unexpected(locator.error());
    if (!locator->starts_with("PK\6\7")) return corrupt("its zip64 directory is missing");
    const auto record = read(number(*locator, 8, 8), kEnd64Size);
    if (!record) return tl::unexpected(record.error());
    if (!record->starts_with("PK\6\6")) return corrupt("its zip64 directory is missing");
    return Directory{number(*record, 48, 8), number(*record, 40, 8)};
  }

  Result<ZipMember> take_member(std::string_view& rest) const {
    if (rest.size() < kEntrySize || !rest.starts_with("PK\1\2")) return corrupt("its directory is damaged");
    const std::uint64_t flags = number(rest, 8, 2);
    const std::uint64_t method = number(rest, 10, 2);
    const std::size_t name_size = number(rest, 28, 2);
    const std::size_t extra_size = number(rest, 30, 2);
    const std::size_t entry_size = kEntrySize + name_size + extra_size + number(rest, 32, 2);
    if (rest.size() < entry_size) return corrupt("its directory is damaged");

    ZipMember member;
    member.name = rest.substr(kEntrySize, name_size);
    member.stored = method == 0 && (flags & 1) == 0;
    // In this order, and only those that did not fit, stand in the extra field of id 1 (APPNOTE 4.5.3).
    std::uint64_t full_size = number(rest, 24, 4);
    member.size = number(rest, 20, 4);
    std::uint64_t header = number(rest, 42, 4);
    std::string_view wide = extra_field(rest.substr(kEntrySize + name_size, extra_size), 1);
    for (std::uint64_t* value : {&full_size, &member.size, &header}) {
      if (*value != kSeeZip64) continue;
      if (wide.size() < 8) return corrupt("a zip64 size is missing");
      *value = number(wide, 0, 8);
      wide.remove_prefix(8);
    }
    rest.remove_prefix(entry_size);

    const auto local = read(header, kLocalSize);
    if (!local) return tl::unexpected(local.error());
    if (!local->starts_with("PK\3\4")) return corrupt("member '" + member.name + "' is not where it should be");
    member.offset = header + kLocalSize + number(*local, 26, 2) + number(*local, 28, 2);
    if (member.offset > file_size_ || member.size > file_size_ - member.offset)
      return corrupt("member '" + member.name + "' is cut off");
    if (member.stored && full_size != member.size) return corrupt("member '" + member.name + "' has two sizes");
    return member;
  }

  static std::string_view extra_field(std::string_view extra, std::uint64_t id) {
    while (extra.size() >= 4) {
      const std::size_t size = std::min<std::size_t>(number(extra, 2, 2), extra.size() - 4);
      if (number(extra, 0, 2) == id) return extra.substr(4, size);
      extra.remove_prefix(4 + size);
    }
    return {};
  }

  const ReadAt& read_;
  const std::uint64_t file_size_;
  const std::string_view subject_;
};

}  // namespace

Result<std::vector<ZipMember>> read_zip_directory(const ReadAt& read, std::uint64_t file_size,
                                                  std::string_view subject) {
  return Reader(read, file_size, subject).members();
}

}  // namespace pinstep
