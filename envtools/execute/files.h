// Making the files of a stage.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "envtools/base/error.h"

namespace pinstep {

enum class LinkMethod { reflink, hard_link, copy };

// What works from one file system to another: tried with a real file, which is made and removed again below
// `stage`. A hard link is not taken to a file of another user, who could change it later.
LinkMethod probe_link_method(const std::string& file, const std::string& stage);

// Makes `target`, which must not exist, from the file `source`; by a copy where the method does not work for
// this file. Tells whether it was linked. Errors: no_space, refused, os; corrupt (source is gone).
struct NewFile {
  bool executable = false;  // 0555, else 0444
  std::int64_t time = 0;    // seconds since the epoch
};
Result<bool> link_file(const std::string& source, const std::string& target, LinkMethod method,
                       const NewFile& as);

// Makes a file with this content. Errors: as above.
Result<void> write_new_file(const std::string& target, std::string_view content, const NewFile& as);

Result<void> make_symlink(const std::string& target, const std::string& text, std::int64_t time);

}  // namespace pinstep
