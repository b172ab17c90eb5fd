// The directory of any file is read without reading outside it, and what it names lies inside.
#include "envtools/package/zip.h"
#include "tests/fuzz/check.h"

using namespace pinstep;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view file = fuzz::as_text(data, size);
  const ReadAt read = [&](std::uint64_t offset, std::size_t length) -> Result<std::string> {
    CHECK(offset <= size && length <= size - offset);
    return std::string(file.substr(offset, length));
  };
  const auto members = read_zip_directory(read, size, "x.conda");
  if (!members) return 0;
  for (const ZipMember& member : *members) CHECK(member.offset <= size && member.size <= size - member.offset);
  return 0;
}
