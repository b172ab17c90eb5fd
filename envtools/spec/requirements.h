// Requirements files, as pip reads them: what a line is, and the files that `-r FILE` and `-c FILE` name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "envtools/base/error.h"
#include "envtools/spec/spec.h"

namespace pinstep {

// The lines without comments and blank ones; one that ends in a backslash goes on in the next, and `line` is
// where it begins. A `#` begins a comment at the beginning of a line or after a blank.
std::vector<SpecLine> requirement_lines(std::string_view text);

// A line that names another file.
struct FileOption {
  enum class Kind { requirements, constraints };
  Kind kind;
  std::string path;  // as written
};

// "-r FILE", "-rFILE", "--requirement FILE", "--requirement=FILE"; the same of -c, --constraint. Nothing for
// any other line.
std::optional<FileOption> file_option(std::string_view line);

// Puts the lines of the files into the spec's pip list where the files are named, and those of constraints
// files into its constraints; paths begin at the file that names them. Errors: invalid with the place of the
// line (a file that reads itself, a URL, one without a name, more than 100 files), not_found and others of
// read_file() with that place.
Result<void> read_requirement_files(Spec& spec);

}  // namespace pinstep
