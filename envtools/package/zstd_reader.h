// A zstd stream inside a file, decompressed piece by piece.
#pragma once

#include <zstd.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "envtools/package/unpack.h"

namespace pinstep {

class ZstdReader {
 public:
  ZstdReader(const FilePart& part, std::string subject);

  // The next piece, valid until the next call; empty at the end. Errors: corrupt, os.
  Result<std::string_view> next();

 private:
  Result<void> refill();

  FilePart part_;
  std::string subject_;
  std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context_;
  std::vector<char> in_;
  std::vector<char> out_;
  ZSTD_inBuffer input_{};
  bool inside_frame_ = false;
};

}  // namespace pinstep
