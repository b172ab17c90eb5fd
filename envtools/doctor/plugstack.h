// plugstack.conf as Slurm reads it, as far as it names pinstep: spank(7), CONFIGURATION.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "envtools/base/error.h"

namespace pinstep::doctor {

struct PluginLine {
  std::string word;  // "optional" or "required"
  std::string path;
  std::vector<std::string> arguments;
  std::string where;  // "/etc/slurm/plugstack.conf:3"

  bool operator==(const PluginLine&) const = default;
};

struct Plugstack {
  std::vector<PluginLine> plugins;
  std::vector<std::string> includes;  // patterns of files, as written; of read_plugstack(): none
};

// `path` is for PluginLine::where. Lines that Slurm would not understand are left out.
Plugstack parse_plugstack(std::string_view text, std::string_view path);

// The file and what it includes. Errors: those of read_file(), of any of the files.
Result<Plugstack> read_plugstack(const std::string& path);

// Whether a line is for pinstep.so, under whatever name beginning so.
bool is_ours(const PluginLine& line);

}  // namespace pinstep::doctor
