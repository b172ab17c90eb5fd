// A conda package: what its metadata says, and its archive.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "envtools/base/error.h"

namespace pinstep {

enum class Noarch { no, python, generic };

// One entry of info/paths.json, or of the files that older packages have instead.
struct PackagePath {
  enum class Type { file, symlink, directory };
  enum class Mode { none, text, binary };  // how a placeholder is replaced

  std::string path;  // relative, checked: no "..", not absolute, no empty part
  Type type = Type::file;
  std::string sha256;       // of the content; of the target's for links; may be empty
  std::uint64_t size = 0;   // bytes
  std::string placeholder;  // empty: none
  Mode mode = Mode::none;
  bool no_link = false;
};

struct EntryPoint {
  std::string command;   // checked as a file name
  std::string module;    // dotted identifiers
  std::string function;  // dotted identifiers
};

struct PackageInfo {
  std::string name, version, build, subdir;  // name, version, build are safe as path parts
  std::uint64_t build_number = 0;
  Noarch noarch = Noarch::no;             // from index.json, else link.json
  std::string python_site_packages_path;  // of python itself; stays inside the prefix
  std::vector<std::string> depends;
  std::string index_json;          // the text, for the record in conda-meta
  std::vector<PackagePath> paths;  // sorted by path
  std::vector<EntryPoint> entry_points;
  std::vector<std::string> link_scripts;  // "bin/.x-post-link.sh" that other installers run for this package
  std::int64_t timestamp = 0;  // seconds, of about.json or index.json; for the times of patched files
};

// Reads an extracted package (DIR/info/…). Errors: corrupt, refused (an unsafe name or path).
Result<PackageInfo> read_package(const std::string& directory);

// Extracts FILE.conda or FILE.tar.bz2 into a directory that does not exist yet. Only the x bit of modes is
// kept (0444 or 0555; directories 0755), owner, setuid and extended attributes are dropped, times floored
// at 1980. Errors: corrupt, unsupported, refused (absolute or ".." members, an entry through a symbolic link,
// a hard link out, devices: the member is named), no_space, os.
Result<void> extract_package(const std::string& archive, const std::string& directory);

// ---- the package cache: DIR/NAME-VERSION-BUILD-<first 16 digits of sha256>/, complete or absent

// "openssl-3.3.1-h4ab18f5_1" and ".conda" of a URL or file name. Errors: invalid.
struct ArchiveName {
  std::string name, version, build;
  std::string stem;       // name-version-build
  std::string extension;  // ".conda" or ".tar.bz2"
};
Result<ArchiveName> parse_archive_name(std::string_view url_or_file);

// Several processes may do this at once: extracted aside, checked against paths.json (size and sha256 of
// every file), then renamed. Gives the directory. Errors: those of extract_package() and read_package().
Result<std::string> extract_into_cache(const std::string& archive, const std::string& cache,
                                       const std::string& stem, const std::string& sha256);

}  // namespace pinstep
