// Real packages, unpacked and ready to be planned.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "envtools/execute/execute.h"
#include "envtools/hash/hash.h"
#include "tests/unit/support/files.h"
#include "tests/unit/support/results.h"
#include "tests/unit/support/testdata.h"

namespace pinstep::testing_support {

// Unpacks an archive into `cache` and reads it; a failure throws, which fails the test.
inline CondaSource unpacked(const std::string& archive, const std::string& cache) {
  const auto name = parse_archive_name(archive).value();
  LockedPackage locked;
  locked.name = name.name;
  locked.version = name.version;
  locked.build = name.build;
  locked.platform = "linux-64";
  locked.url = "https://example.org/channel/linux-64/" + name.stem + name.extension;
  locked.sha256 = hash_file(archive).value();
  const std::string directory = extract_into_cache(archive, cache, name.stem, locked.sha256).value();
  return load_conda_source(std::move(locked), directory).value();
}

// All archives of a directory.
inline std::vector<CondaSource> all_unpacked(const std::string& directory, const std::string& cache) {
  std::vector<CondaSource> sources;
  for (const auto& file : std::filesystem::directory_iterator(directory))
    if (parse_archive_name(file.path().string())) sources.push_back(unpacked(file.path(), cache));
  return sources;
}

// Everything that a build does with a plan, but for publishing; gives the tree hash.
inline Result<std::string> build_tree(const Plan& plan, const std::string& stage, int jobs = 2) {
  auto executed = execute_plan(plan, stage, jobs);
  if (!executed) return tl::unexpected(executed.error());
  if (auto done = compile_sources(plan, stage, jobs, *executed); !done) return tl::unexpected(done.error());
  if (auto done = write_records(plan, stage, *executed); !done) return tl::unexpected(done.error());
  return tree_hash(stage, plan.prefix, jobs);
}

}  // namespace pinstep::testing_support
