#include "envtools/package/zstd_reader.h"

#include <unistd.h>

#include <algorithm>
#include <new>

namespace pinstep {
namespace {

constexpr std::size_t kInSize = 1 << 18;
constexpr std::size_t kOutSize = 1 << 18;

// zstd refuses windows above 128 MiB unless told otherwise; packages made with --long use more.
constexpr int kWindowLog = sizeof(void*) == 8 ? 31 : 30;

}  // namespace

ZstdReader::ZstdReader(const FilePart& part, std::string subject)
    : part_(part),
      subject_(std::move(subject)),
      context_(ZSTD_createDCtx(), &ZSTD_freeDCtx),
      in_(static_cast<std::size_t>(std::min<std::uint64_t>(part.size, kInSize))),
      out_(kOutSize) {
  if (context_ == nullptr) throw std::bad_alloc();
  ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, kWindowLog);
}

Result<void> ZstdReader::refill() {
  ssize_t got = 0;
  do {
    got =
        ::pread(part_.fd, in_.data(), static_cast<std::size_t>(std::min<std::uint64_t>(part_.size, in_.size())),
                static_cast<off_t>(part_.offset));
  } while (got < 0 && errno == EINTR);
  if (got < 0) return fail_errno(errno, "read", subject_);
  if (got == 0) return fail(ErrorKind::corrupt, "'" + subject_ + "' became shorter while it was read");
  part_.offset += static_cast<std::uint64_t>(got);
  part_.size -= static_cast<std::uint64_t>(got);
  input_ = {in_.data(), static_cast<std::size_t>(got), 0};
  return {};
}

Result<std::string_view> ZstdReader::next() {
  ZSTD_outBuffer output{out_.data(), out_.size(), 0};
  while (output.pos < output.size) {
    if (input_.pos == input_.size) {
      if (part_.size == 0 && !inside_frame_) break;
      // More may be waiting inside the decoder than its input suggests: only no progress means the end.
      if (part_.size > 0) {
        if (const auto filled = refill(); !filled) return tl::unexpected(filled.error());
      }
    }
    const std::size_t before = output.pos + input_.pos;
    const std::size_t left = ZSTD_decompressStream(context_.get(), &output, &input_);
    if (ZSTD_isError(left))
      return fail(ErrorKind::corrupt, "'" + subject_ + "' is damaged: " + ZSTD_getErrorName(left));
    inside_frame_ = left != 0;
    if (output.pos + input_.pos == before && part_.size == 0 && input_.pos == input_.size && inside_frame_)
      return fail(ErrorKind::corrupt, "'" + subject_ + "' is damaged: it ends too early");
  }
  return std::string_view(out_.data(), output.pos);
}

}  // namespace pinstep
