// Digests of content, by OpenSSL's libcrypto (which uses the processor's SHA instructions).
// Apart from base/ because base/ depends on nothing.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "envtools/base/error.h"

namespace pinstep {

enum class Digest { sha256, md5 };  // md5: only to check old explicit files, never to name anything

class Hasher {
 public:
  explicit Hasher(Digest digest = Digest::sha256);
  ~Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;

  void update(std::string_view bytes);
  std::string hex();  // lower case; ends this hasher's use

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string sha256_hex(std::string_view bytes);

// Of a file's content, however long. Errors: those of opening and reading it.
Result<std::string> hash_file(const std::string& path, Digest digest = Digest::sha256);

}  // namespace pinstep
