// A lock that is accepted is the same after it was written and read again, and so is its environment's id.
#include "envtools/lock/lock.h"

#include <algorithm>
#include <tuple>

#include "tests/fuzz/check.h"

using namespace pinstep;

namespace {

void check_package(const LockedPackage& package) {
  for (const std::string& part : {package.name, package.version, package.build})
    CHECK(part != "." && part != ".." && part.find('/') == std::string::npos);
  CHECK(package.sha256.empty() || package.sha256.size() == 64);
  CHECK(package.md5.empty() || package.md5.size() == 32);
}

bool before(const LockedPackage& a, const LockedPackage& b) {
  return std::tie(a.manager, a.name, a.platform, a.category) <
         std::tie(b.manager, b.name, b.platform, b.category);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::as_text(data, size);
  (void)file_kind(text);
  auto lock = parse_lock(text, "/d/f");
  if (!lock) {
    CHECK(lock.error().kind == ErrorKind::invalid || lock.error().kind == ErrorKind::unsupported);
    CHECK(lock.error().cause.starts_with("/d/f:"));
    return 0;
  }
  for (const LockedPackage& package : lock->packages) check_package(package);
  if (lock->origin == Lock::Origin::explicit_list) return 0;

  const std::string written = write_lock(*lock);
  CHECK(file_kind(written) == FileKind::lock);
  const auto again = parse_lock(written, "/d/f");
  CHECK(again.has_value());
  CHECK(again->platforms == lock->platforms && again->content_hash == lock->content_hash);
  CHECK(again->channels == lock->channels && again->sources == lock->sources);
  CHECK(again->variables == lock->variables && again->custom == lock->custom);
  // Of two packages with one digest the lock keeps one size.
  for (LockedPackage& package : lock->packages)
    for (const LockedPackage& other : again->packages)
      if (package.url == other.url && package.name == other.name && package.platform == other.platform)
        package.size = other.size;
  std::stable_sort(lock->packages.begin(), lock->packages.end(), before);
  CHECK(again->packages == lock->packages);
  CHECK(write_lock(*again) == written);
  for (const std::string& platform : lock->platforms) {
    const auto id = environment_id(*lock, platform, {}), other = environment_id(*again, platform, {});
    CHECK(id.has_value() == other.has_value() && (!id || *id == *other));
  }
  return 0;
}
