// What a prefix will consist of, decided before a single file is touched.
//
// make_plan() is a pure function: the same artifacts, options and prefix path give the same plan, in
// whatever order they come. Every path of the prefix occurs once, so that any number of threads may carry
// the plan out in any order. Rules: conda's (CEP 34) where they are common ground; where tools differ, what
// pinstep does stands in FORMAT.md of envtools/execute.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "envtools/base/error.h"
#include "envtools/lock/lock.h"
#include "envtools/package/package.h"
#include "envtools/wheel/wheel.h"

namespace pinstep {

// What paths.json does not say of a file and the file system does.
struct FileFacts {
  std::string link_text;  // of a symbolic link
  bool executable = false;
  std::int64_t time = 0;  // seconds since the epoch
};

// One artifact as it lies unpacked in the cache.
struct CondaSource {
  LockedPackage locked;
  PackageInfo info;
  std::string directory;         // absolute
  std::vector<FileFacts> facts;  // one for each of info.paths
};
struct WheelSource {
  LockedPackage locked;
  WheelInfo info;
  std::string directory;
};

// Read what planning needs; safe in several threads. Errors: those of read_package() and read_wheel();
// corrupt (a file of paths.json is missing or of another type).
Result<CondaSource> load_conda_source(LockedPackage locked, const std::string& directory);
Result<WheelSource> load_wheel_source(LockedPackage locked, const std::string& directory);

struct PlanInput {
  std::string prefix;  // final, absolute
  BuildOptions options;
  std::vector<CondaSource> conda;                // in any order
  std::vector<WheelSource> wheels;               // in any order
  std::vector<LockedChannel> channels;           // the lock's, for the records
  std::map<std::string, std::string> variables;  // the lock's
};

inline constexpr std::size_t kNoOwner = static_cast<std::size_t>(-1);

struct PlannedFile {
  enum class Kind {
    link,       // the file in the cache by whatever link works, else a copy
    copy,       // a copy always (no_link)
    text,       // a copy with the placeholder replaced, and the first line mended where it got too long
    binary,     // a copy of the same size with the placeholder replaced
    symlink,    // `content` is its text
    generated,  // `content` is the file
    script,     // a wheel's: "#!python" in the first line becomes `content`, an interpreter
  };

  std::string path;  // relative to the prefix
  Kind kind = Kind::link;
  std::string source;  // absolute path in the cache; empty for symlink and generated
  std::string content;
  std::string placeholder;  // text, binary
  bool executable = false;
  std::int64_t time = 0;         // seconds since the epoch, of a file that is not linked
  std::uint64_t size = 0;        // bytes of the source
  std::string sha256;            // of the source; empty for symlink and generated
  std::size_t owner = kNoOwner;  // index into Plan::packages

  bool operator==(const PlannedFile&) const = default;
};

// What conda-meta says of a package besides its files.
struct PlannedPackage {
  std::string name, version, build;
  bool is_wheel = false;                     // wheels have their own records (dist-info) and none in conda-meta
  std::string record_json;                   // an object: repodata's fields, fn, url, channel
  std::string stem;                          // NAME-VERSION-BUILD
  std::string file_name;                     // of the archive
  std::map<std::string, PackagePath> paths;  // by path in the prefix: what paths.json says
  std::vector<std::string> entry_points;     // paths of generated scripts
};

struct PlannedPython {
  std::string version;  // "3.11"
  std::string program;  // "bin/python3.11"
  std::string library;  // "lib/python3.11"
  std::string site;     // "lib/python3.11/site-packages"
};

struct Plan {
  std::string prefix;
  std::vector<std::string> directories;  // relative, sorted: parents come before what is in them
  std::vector<PlannedFile> files;        // sorted by path
  std::vector<PlannedPackage> packages;  // in the order of linking: dependencies before dependents
  std::optional<PlannedPython> python;
  std::vector<std::size_t> compile;  // indexes into `files`: sources to be byte-compiled
  std::int64_t time = 0;             // of everything that belongs to no package: the latest package's
  std::vector<std::string> notes;    // paths left out because two packages have them, …
};

// Errors: conflict (a wheel would replace a conda package's file), refused (a package with link scripts, a
// symbolic link that leads out of the prefix), invalid (prefix longer than a placeholder, or with characters
// that scripts cannot carry; a python package without python). Each names the package and path.
Result<Plan> make_plan(PlanInput input);

// The order of linking, as indexes: dependencies before dependents, the same for every order of input; names
// that sort first come last among unrelated packages. Where two packages have a path, the later one has it.
// A cycle that nothing outside it needs is entered at the name that sorts last. (order.cc)
std::vector<std::size_t> link_order(const std::vector<CondaSource>& packages);

}  // namespace pinstep
