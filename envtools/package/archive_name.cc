#include "envtools/base/text.h"
#include "envtools/package/names.h"
#include "envtools/package/package.h"

namespace pinstep {
namespace {

// The last part of a URL or path, without query and fragment ("#md5" of explicit files).
std::string_view file_part(std::string_view text) {
  text = text.substr(0, text.find_first_of("?#"));
  return text.substr(text.rfind('/') + 1);
}

}  // namespace

Result<ArchiveName> parse_archive_name(std::string_view url_or_file) {
  const std::string file = percent_decode(file_part(url_or_file)).value_or("");
  const auto invalid = [&](const char* why) {
    return fail(ErrorKind::invalid, "'" + printable(file_part(url_or_file)) + "' " + why,
                "a conda package is called NAME-VERSION-BUILD.conda or .tar.bz2");
  };
  ArchiveName name;
  for (const char* extension : {".conda", ".tar.bz2"})
    if (file.ends_with(extension)) name.extension = extension;
  if (name.extension.empty()) return invalid("is no conda package");
  name.stem = file.substr(0, file.size() - name.extension.size());

  // From the right: names have dashes, versions and builds do not.
  const std::size_t build = name.stem.rfind('-');
  const std::size_t version =
      build == std::string::npos || build == 0 ? build : name.stem.rfind('-', build - 1);
  if (build == std::string::npos || version == std::string::npos || build == 0)
    return invalid("has no version or no build");
  name.name = name.stem.substr(0, version);
  name.version = name.stem.substr(version + 1, build - version - 1);
  name.build = name.stem.substr(build + 1);
  if (!is_safe_part(name.name) || !is_safe_part(name.version) || !is_safe_part(name.build))
    return invalid("has characters that a package's name cannot have");
  return name;
}

}  // namespace pinstep
