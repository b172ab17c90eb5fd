// A lock of Python packages, whatever is in it, gives wheels that can be locked, or an error with its place.
#include "envtools/piplock/piplock.h"

#include "envtools/base/text.h"
#include "envtools/piplock/marker.h"
#include "envtools/piplock/requirements.h"
#include "tests/fuzz/check.h"

using namespace pinstep;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::as_text(data, size);
  (void)pip_lock_kind(text);
  for (const SpecLine& line : requirement_lines(text)) CHECK(!line.text.empty() && line.line > 0);
  (void)marker_holds(text, linux_markers("3.12.4", "x86_64"));
  (void)fits_specifiers("3.12.4", text);

  const auto lock = parse_pip_lock(text, "/d/f");
  if (!lock) {
    CHECK(lock.error().kind == ErrorKind::invalid || lock.error().kind == ErrorKind::unsupported);
    CHECK(lock.error().cause.starts_with("/d/f:"));
    return 0;
  }
  const auto chosen = choose_wheels(*lock, {"3.12.4", "x86_64", "2.28"}, "linux-64", {{"x"}, {}}, "/d/f");
  if (!chosen) {
    CHECK(chosen.error().cause.starts_with("/d/f:"));
    return 0;
  }
  Lock written;
  written.platforms = {"linux-64"};
  written.packages = chosen->packages;
  for (const LockedPackage& package : written.packages)
    CHECK(is_hex(package.sha256, 64) && !package.url.empty());
  const auto again = parse_lock(write_lock(written), "/d/f");
  CHECK(again.has_value());
  CHECK(again->packages.size() == written.packages.size());
  return 0;
}
