#include "envtools/hash/hash.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <vector>

#include "envtools/base/fd.h"

namespace pinstep {

struct Hasher::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

// libcrypto fails here for want of memory only.
Hasher::Hasher(Digest digest) : state_(std::make_unique<State>()) {
  const EVP_MD* kind = digest == Digest::sha256 ? EVP_sha256() : EVP_md5();
  if (state_->context == nullptr || EVP_DigestInit_ex(state_->context, kind, nullptr) != 1)
    throw std::bad_alloc();
}
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;

void Hasher::update(std::string_view bytes) { EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()); }

std::string Hasher::hex() {
  unsigned char raw[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_DigestFinal_ex(state_->context, raw, &size);
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(size * 2);
  for (unsigned int i = 0; i < size; ++i) {
    text += kDigits[raw[i] >> 4];
    text += kDigits[raw[i] & 15];
  }
  return text;
}

std::string sha256_hex(std::string_view bytes) {
  Hasher hasher;
  hasher.update(bytes);
  return hasher.hex();
}

Result<std::string> hash_file(const std::string& path, Digest digest) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return fail_errno(errno, "open", path);
  Hasher hasher(digest);
  std::vector<char> buffer(1 << 18);
  for (;;) {
    const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, "read", path);
    if (got == 0) return hasher.hex();
    hasher.update({buffer.data(), static_cast<std::size_t>(got)});
  }
}

}  // namespace pinstep
