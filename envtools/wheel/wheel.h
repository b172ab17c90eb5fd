// A python wheel (PEP 427): what its metadata says, and its archive. Installing one is copying files by rules
// that need no python: no script of a wheel runs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "envtools/base/error.h"
#include "envtools/package/package.h"

namespace pinstep {

struct WheelFile {
  std::string path;  // in the archive, checked like PackagePath::path
  std::string sha256;
  std::uint64_t size = 0;  // bytes
  bool executable = false;
  std::int64_t time = 0;  // seconds since the epoch
};

struct WheelInfo {
  std::string name, version;             // as in its dist-info directory
  std::string dist_info;                 // "numpy-1.26.4.dist-info"
  std::string data;                      // "numpy-1.26.4.data"
  std::vector<WheelFile> files;          // sorted by path; without RECORD and its signatures
  std::vector<EntryPoint> entry_points;  // console_scripts and gui_scripts
};

// Reads an extracted wheel. Errors: corrupt (no or several dist-info, a bad RECORD), unsupported (a newer
// Wheel-Version), refused (an unsafe path or command).
Result<WheelInfo> read_wheel(const std::string& directory);

// DIR/NAME-VERSION-TAGS-<first 16 digits of sha256>/, complete or absent: extracted aside, every file checked
// against RECORD, then renamed. Several processes may do this at once. Gives the directory.
// Errors: those of read_wheel(); corrupt (a file is missing in RECORD or differs from it), no_space, os.
Result<std::string> extract_wheel_into_cache(const std::string& archive, const std::string& cache,
                                             const std::string& sha256);

// ---- pure parts, for tests

struct RecordLine {
  std::string path;
  std::string sha256;  // hex; empty: none given
  std::uint64_t size = 0;
  bool operator==(const RecordLine&) const = default;
};
// RECORD is CSV of path, algorithm=digest in URL-safe base64, size. Errors: corrupt with the line.
Result<std::vector<RecordLine>> parse_record(std::string_view text, const std::string& path);
std::string format_record(const std::vector<RecordLine>& lines);

// console_scripts and gui_scripts of entry_points.txt. Errors: corrupt with the line, refused (a command that
// is no plain file name).
Result<std::vector<EntryPoint>> parse_entry_points(std::string_view text, const std::string& path);

}  // namespace pinstep
