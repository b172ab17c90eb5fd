// Whatever a tar holds, it is extracted below its directory, or refused, and nothing appears beside it.
// Checksums of headers are mended first: a tar whose every header is wrong would show nothing.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include <filesystem>
#include <string>

#include "envtools/package/unpack.h"
#include "tests/fuzz/check.h"

using namespace pinstep;

namespace {

void mend_checksums(std::string& tar) {
  for (std::size_t at = 0; at + 512 <= tar.size(); at += 512) {
    if (tar.compare(at + 257, 5, "ustar") != 0) continue;
    tar.replace(at + 148, 8, 8, ' ');
    unsigned sum = 0;
    for (std::size_t i = 0; i < 512; ++i) sum += static_cast<unsigned char>(tar[at + i]);
    char text[8];
    std::snprintf(text, sizeof text, "%06o", sum);
    tar.replace(at + 148, 7, text, 7);
  }
}

// Kept for all runs: DIRECTORY/in is extracted into, and alone there.
class Directory {
 public:
  Directory() { CHECK(::mkdtemp(path_.data()) != nullptr); }
  ~Directory() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_ = (std::filesystem::temp_directory_path() / "pinstep-fuzz-XXXXXX").string();
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string tar(fuzz::as_text(data, size));
  mend_checksums(tar);
  std::string packed(ZSTD_compressBound(tar.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), tar.data(), tar.size(), 1));
  const UniqueFd file(::memfd_create("fuzz", MFD_CLOEXEC));
  CHECK(::pwrite(file.get(), packed.data(), packed.size(), 0) == static_cast<ssize_t>(packed.size()));

  static const Directory directory;
  const std::string inside = directory.path() + "/in";
  std::filesystem::create_directory(inside);
  auto tree = Tree::open(inside, "x.conda");
  CHECK(tree.has_value());
  if (unpack_zstd_tar({file.get(), 0, packed.size()}, "x.conda", *tree))
    for (const auto& [path, extracted] : tree->extracted())
      CHECK(std::filesystem::exists(std::filesystem::symlink_status(inside + "/" + path)));
  for (const auto& entry : std::filesystem::directory_iterator(directory.path())) CHECK(entry.path() == inside);
  std::filesystem::remove_all(inside);
  return 0;
}
