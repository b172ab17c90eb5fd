#include "envtools/package/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <locale.h>

#include <algorithm>
#include <memory>

#include "envtools/base/text.h"
#include "envtools/package/metadata.h"
#include "envtools/package/names.h"
#include "envtools/package/package.h"
#include "envtools/package/zip.h"
#include "envtools/package/zstd_reader.h"

namespace pinstep {
namespace {

using Archive = std::unique_ptr<struct archive, decltype(&archive_read_free)>;

// libarchive converts names to the locale's characters and drops those that have none there. The names of
// a package are UTF-8 whatever the user's locale is.
class Utf8Locale {
 public:
  Utf8Locale() : locale_(::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {
    if (locale_ != nullptr) before_ = ::uselocale(locale_);
  }
  ~Utf8Locale() {
    if (locale_ == nullptr) return;
    ::uselocale(before_);
    ::freelocale(locale_);
  }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;

 private:
  locale_t locale_;
  locale_t before_ = nullptr;
};

// A member's name without "./" and trailing slashes; empty for the root itself. Nothing for one that leads
// out: absolute, or with "..".
std::optional<std::string> member_path(std::string_view name) {
  if (name.starts_with('/')) return std::nullopt;
  std::string path;
  for (const std::string_view part : split(name, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") return std::nullopt;
    if (!path.empty()) path += '/';
    path += part;
  }
  return path;
}

class Unpacker {
 public:
  Unpacker(struct archive* source, const std::string& archive, Tree& tree)
      : source_(source), archive_(archive), tree_(tree) {}

  Result<void> all_members() {
    const Utf8Locale utf8;
    for (;;) {
      struct archive_entry* entry = nullptr;
      const int got = archive_read_next_header(source_, &entry);
      if (got == ARCHIVE_EOF) return {};
      if (got < ARCHIVE_WARN) return damaged();
      if (const auto done = member(entry); !done) return done;
    }
  }

 private:
  tl::unexpected<Error> damaged() const {
    const char* why = archive_error_string(source_);
    return fail(ErrorKind::corrupt,
                "'" + archive_ + "' is damaged: " + printable(why == nullptr ? "not a tar file" : why));
  }

  tl::unexpected<Error> refused(std::string_view name, const char* why) const {
    return fail(ErrorKind::refused, "'" + archive_ + "' holds '" + printable(name) + "', " + why);
  }

  Result<void> member(struct archive_entry* entry) {
    const char* name = archive_entry_pathname(entry);
    if (name == nullptr) return fail(ErrorKind::corrupt, "'" + archive_ + "' holds a name that is no UTF-8");
    const auto path = member_path(name);
    if (!path) return refused(name, "which leads out of the package");

    if (const char* existing = archive_entry_hardlink(entry); existing != nullptr) {
      const auto target = member_path(existing);
      if (!target) return refused(name, "a hard link that leads out of the package");
      return path->empty() ? refused(name, "which names nothing") : tree_.make_hard_link(*path, *target);
    }
    switch (archive_entry_filetype(entry)) {
      case AE_IFDIR:
        return path->empty() ? Result<void>() : tree_.make_directory(*path);
      case AE_IFREG:
        return path->empty() ? refused(name, "which names nothing") : file(entry, *path);
      case AE_IFLNK:
        return path->empty() ? refused(name, "which names nothing") : symlink(entry, *path);
      default:
        return refused(name, "which is a device, FIFO or socket");
    }
  }

  Result<void> symlink(struct archive_entry* entry, const std::string& path) {
    const char* target = archive_entry_symlink(entry);
    if (target == nullptr || *target == '\0')
      return fail(ErrorKind::corrupt,
                  "'" + archive_ + "' holds '" + printable(path) + "', a symbolic link to nothing");
    return tree_.make_symlink(path, target);
  }

  Result<void> file(struct archive_entry* entry, const std::string& path) {
    const bool executable = (archive_entry_perm(entry) & 0111) != 0;
    if (const auto begun = tree_.begin_file(path, executable, archive_entry_mtime(entry)); !begun) return begun;
    la_int64_t expected = 0;
    for (;;) {
      const void* bytes = nullptr;
      std::size_t size = 0;
      la_int64_t offset = 0;
      const int got = archive_read_data_block(source_, &bytes, &size, &offset);
      if (got == ARCHIVE_EOF) break;
      if (got < ARCHIVE_WARN) return damaged();
      if (offset != expected) return sparse(path);
      if (const auto put = tree_.append({static_cast<const char*>(bytes), size}); !put) return put;
      expected += static_cast<la_int64_t>(size);
    }
    if (expected != archive_entry_size(entry)) return sparse(path);
    return tree_.finish_file();
  }

  // No packer of conda packages makes them, and a hole of a few bytes of tar could be hashed for years.
  tl::unexpected<Error> sparse(const std::string& path) const {
    return fail(ErrorKind::unsupported, "'" + archive_ + "' holds '" + printable(path) + "' as a sparse file");
  }

  struct archive* source_;
  const std::string& archive_;
  Tree& tree_;
};

// libarchive asks for the next piece of the tar; it uses the decoder's buffer in place.
struct ZstdSource {
  ZstdReader reader;
  Result<void> end;  // why there was no next piece
};

la_ssize_t read_zstd(struct archive* source, void* data, const void** buffer) {
  auto& zstd = *static_cast<ZstdSource*>(data);
  const auto piece = zstd.reader.next();
  if (!piece) {
    zstd.end = tl::unexpected(piece.error());
    archive_set_error(source, EIO, "%s", piece.error().cause.c_str());
    return ARCHIVE_FATAL;
  }
  *buffer = piece->data();
  return static_cast<la_ssize_t>(piece->size());
}

Archive new_reader() {
  Archive source(archive_read_new(), &archive_read_free);
  if (source == nullptr) throw std::bad_alloc();
  return source;
}

Archive new_tar_reader() {
  Archive source = new_reader();
  archive_read_support_format_tar(source.get());
  archive_read_support_format_empty(source.get());  // a package without payload may have a tar of no bytes
  return source;
}

Result<void> unpack_fd(struct archive* source, int fd, const std::string& archive, Tree& tree) {
  constexpr std::size_t kBlock = 1 << 18;
  if (archive_read_open_fd(source, fd, kBlock) != ARCHIVE_OK) {
    const char* why = archive_error_string(source);
    return fail(ErrorKind::corrupt,
                "'" + archive + "' is damaged: " + printable(why == nullptr ? "no archive" : why));
  }
  return Unpacker(source, archive, tree).all_members();
}

ReadAt reader_of(int fd, const std::string& archive) {
  return [fd, &archive](std::uint64_t offset, std::size_t size) -> Result<std::string> {
    std::string bytes(size, '\0');
    const ssize_t got = ::pread(fd, bytes.data(), size, static_cast<off_t>(offset));
    if (got < 0) return fail_errno(errno, "read", archive);
    if (static_cast<std::size_t>(got) != size)
      return fail(ErrorKind::corrupt, "'" + archive + "' became shorter while it was read");
    return bytes;
  };
}

Result<void> check_format_version(const ReadAt& read, const ZipMember& member, const std::string& archive) {
  constexpr std::uint64_t kLimit = 1 << 16;
  if (!member.stored || member.size > kLimit) return {};
  const auto text = read(member.offset, member.size);
  if (!text) return tl::unexpected(text.error());
  const auto version = package_format_version(*text);
  if (!version || *version == 2) return {};
  return fail(ErrorKind::unsupported,
              "'" + archive + "' has version " + std::to_string(*version) + " of the .conda format, not 2");
}

// A zip of metadata.json, pkg-NAME.tar.zst and info-NAME.tar.zst in any order. Some packers leave out the
// first, and the second where there is no payload.
Result<void> unpack_conda(int fd, const std::string& archive, Tree& tree) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return fail_errno(errno, "inspect", archive);
  const ReadAt read = reader_of(fd, archive);
  const auto members = read_zip_directory(read, static_cast<std::uint64_t>(info.st_size), archive);
  if (!members) return tl::unexpected(members.error());

  // Payload first: what both tars have counts as info says it.
  bool has_info = false;
  for (const std::string_view part : {"pkg-", "info-"}) {
    for (const ZipMember& member : *members) {
      if (member.name == "metadata.json" && part == "pkg-") {
        if (const auto fits = check_format_version(read, member, archive); !fits) return fits;
      }
      if (!member.name.starts_with(part) || !member.name.ends_with(".tar.zst")) continue;
      if (!member.stored)
        return fail(ErrorKind::unsupported, "'" + archive + "' has compressed or encrypted zip members");
      const auto done = unpack_zstd_tar({fd, member.offset, member.size}, archive, tree);
      if (!done) return done;
      has_info = has_info || part == "info-";
    }
  }
  if (!has_info)
    return fail(ErrorKind::corrupt, "'" + archive + "' is no conda package: it has no info-….tar.zst");
  return {};
}

}  // namespace

Result<void> unpack_zstd_tar(const FilePart& part, const std::string& archive, Tree& tree) {
  ZstdSource zstd{ZstdReader(part, archive), {}};
  const Archive source = new_tar_reader();
  if (archive_read_open(source.get(), &zstd, nullptr, read_zstd, nullptr) != ARCHIVE_OK)
    return zstd.end ? fail(ErrorKind::corrupt, "'" + archive + "' does not hold a tar file") : zstd.end;
  const auto done = Unpacker(source.get(), archive, tree).all_members();
  return done || zstd.end ? done : zstd.end;
}

Result<void> unpack_bzip2_tar(int fd, const std::string& archive, Tree& tree) {
  const Archive source = new_tar_reader();
  archive_read_support_filter_bzip2(source.get());
  return unpack_fd(source.get(), fd, archive, tree);
}

Result<void> unpack_zip(int fd, const std::string& archive, Tree& tree) {
  const Archive source = new_reader();
  archive_read_support_format_zip_seekable(source.get());
  return unpack_fd(source.get(), fd, archive, tree);
}

Result<ExtractedTree> extract_archive(const std::string& archive, const std::string& directory) {
  const UniqueFd fd(::open(archive.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return fail_errno(errno, "open", archive);
  auto tree = Tree::open(directory, archive);
  if (!tree) return tl::unexpected(tree.error());
  // By content: what a cache calls the file does not matter.
  char magic[3] = {};
  if (::pread(fd.get(), magic, sizeof magic, 0) < 0) return fail_errno(errno, "read", archive);
  const std::string_view begin(magic, sizeof magic);
  Result<void> done;
  if (begin.starts_with("PK"))
    done = unpack_conda(fd.get(), archive, *tree);
  else if (begin == "BZh")
    done = unpack_bzip2_tar(fd.get(), archive, *tree);
  else
    done = fail(ErrorKind::corrupt, "'" + archive + "' is no conda package: neither a zip nor a bzip2 file");
  if (!done) return tl::unexpected(done.error());
  return tree->extracted();
}

Result<void> extract_package(const std::string& archive, const std::string& directory) {
  if (::mkdir(directory.c_str(), 0755) != 0) return fail_errno(errno, "make", directory);
  if (::chmod(directory.c_str(), 0755) != 0) return fail_errno(errno, "set the mode of", directory);
  const auto extracted = extract_archive(archive, directory);
  if (!extracted) return tl::unexpected(extracted.error());
  return {};
}

}  // namespace pinstep
