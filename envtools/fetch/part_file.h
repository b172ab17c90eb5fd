// A file while it is being downloaded: hashed as it grows, shown under its name only when it is right.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "envtools/base/fd.h"
#include "envtools/fetch/fetch.h"
#include "envtools/hash/hash.h"

namespace pinstep {

inline constexpr std::uint64_t kArtifactLimit = std::uint64_t{16} << 30;  // bytes; far above any that is known

class PartFile {
 public:
  // Takes over what an earlier try left as `path`.part, by rename: only one process gets it. Its bytes are
  // hashed first. Errors: not_found (no directory), refused, no_space, os.
  static Result<PartFile> open(const FetchFile& file);
  PartFile(PartFile&&) noexcept = default;
  // Leaves what is there for a later try, as `path`.part.
  ~PartFile();

  std::uint64_t size() const { return size_; }
  // `rest` more bytes are said to come. Errors: corrupt (more than any artifact has), no_space.
  Result<void> expect(std::uint64_t rest) const;
  // Errors: corrupt (longer than the job says or than any artifact is), no_space, os.
  Result<void> append(std::string_view bytes);
  Result<void> restart();
  // Compares the digest and shows the file under its name, read-only. Gives the sha256. After a failure
  // only restart() is possible. Errors: corrupt, os.
  Result<std::string> publish();

 private:
  PartFile(const FetchFile& file, std::string own) : file_(&file), own_(std::move(own)) {}
  Result<void> take_in();
  Result<void> check_space(std::uint64_t bytes) const;

  const FetchFile* file_;
  std::string own_;  // the name while this process is at it; empty after publish()
  UniqueFd fd_;
  std::uint64_t size_ = 0;
  std::uint64_t space_known_to_ = 0;  // bytes of the file up to which there is space
  Hasher sha256_;
  std::optional<Hasher> md5_;
};

// The digest of a file that is there already, if it is what the job wants.
std::optional<std::string> already_there(const FetchFile& file);

// Makes what killed processes left in a directory into PATH.part, or deletes it where there is one.
void adopt_leftovers(const std::string& directory);

}  // namespace pinstep
