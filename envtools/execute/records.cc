#include <algorithm>

#include "envtools/execute/execute.h"
#include "envtools/execute/files.h"
#include "envtools/hash/hash.h"
#include "envtools/json/json.h"

namespace pinstep {
namespace {

using Kind = PlannedFile::Kind;

// "lib/x/__pycache__/a.cpython-311.pyc" → "lib/x/a.py"
std::string source_of(const std::string& compiled) {
  constexpr std::string_view kCache = "__pycache__/";
  const std::size_t cache = compiled.rfind(kCache);
  if (cache == std::string::npos) return {};
  const std::size_t stem = cache + kCache.size();
  return compiled.substr(0, cache) + compiled.substr(stem, compiled.find('.', stem) - stem) + ".py";
}

// One entry of paths_data, in the order and with the keys that py-rattler uses.
Json entry_of(const PlannedFile& file, const PackagePath* said, const FileState& state) {
  Json entry = Json::object();
  entry["_path"] = file.path;
  if (said == nullptr) {
    entry["path_type"] = "unix_python_entry_point";
    entry["sha256"] = state.sha256;
    entry["size_in_bytes"] = state.size;
    return entry;
  }
  entry["path_type"] = file.kind == Kind::symlink ? "softlink" : "hardlink";
  if (said->no_link) entry["no_link"] = true;
  if (!said->sha256.empty()) entry["sha256"] = said->sha256;
  const std::string in_prefix = file.kind == Kind::symlink ? sha256_hex(file.content) : state.sha256;
  if (in_prefix != said->sha256) entry["sha256_in_prefix"] = in_prefix;
  if (!said->sha256.empty()) entry["size_in_bytes"] = said->size;  // packages before 2016 say neither
  if (said->mode != PackagePath::Mode::none) {
    entry["file_mode"] = said->mode == PackagePath::Mode::text ? "text" : "binary";
    entry["prefix_placeholder"] = said->placeholder;
  }
  return entry;
}

Json compiled_entry(const std::string& path, const FileState& state) {
  return {{"_path", path},
          {"path_type", "pyc_file"},
          {"sha256_in_prefix", state.sha256},
          {"size_in_bytes", state.size}};
}

using Entries = std::map<std::string, Json>;  // by path

std::vector<Entries> entries_by_package(const Plan& plan, const Executed& executed) {
  std::vector<Entries> entries(plan.packages.size());
  std::map<std::string_view, std::size_t> owners;
  for (std::size_t i = 0; i < plan.files.size(); ++i) {
    const PlannedFile& file = plan.files[i];
    if (file.owner == kNoOwner) continue;
    owners.emplace(file.path, file.owner);
    const auto& said = plan.packages[file.owner].paths;
    const auto found = said.find(file.path);
    entries[file.owner].emplace(
        file.path, entry_of(file, found == said.end() ? nullptr : &found->second, executed.files[i]));
  }
  for (std::size_t i = 0; i < plan.packages.size(); ++i)
    for (const auto& [path, said] : plan.packages[i].paths)
      if (said.type == PackagePath::Type::directory)
        entries[i].emplace(path, Json{{"_path", path}, {"path_type", "directory"}});
  for (const auto& [path, state] : executed.compiled)
    if (const auto owner = owners.find(source_of(path)); owner != owners.end())
      entries[owner->second].emplace(path, compiled_entry(path, state));
  return entries;
}

std::string record_text(const PlannedPackage& package, const Entries& entries) {
  Json record = Json::parse(package.record_json, nullptr, false);
  Json files = Json::array(), paths = Json::array();
  for (const auto& [path, entry] : entries) {
    files.push_back(path);
    paths.push_back(entry);
  }
  record["extracted_package_dir"] = package.stem;
  record["package_tarball_full_path"] = package.file_name;
  record["requested_specs"] = Json::array();
  record["files"] = std::move(files);
  record["paths_data"] = {{"paths_version", 1}, {"paths", std::move(paths)}};
  record["link"] = {{"source", package.stem}, {"type", 1}};
  return dump_json(record, 2) + "\n";
}

}  // namespace

Result<void> write_records(const Plan& plan, const std::string& stage, const Executed& executed) {
  const std::vector<Entries> entries = entries_by_package(plan, executed);
  for (std::size_t i = 0; i < plan.packages.size(); ++i) {
    const PlannedPackage& package = plan.packages[i];
    if (package.is_wheel) continue;
    const std::string path = stage + "/conda-meta/" + package.stem + ".json";
    if (auto written = write_new_file(path, record_text(package, entries[i]), {false, plan.time}); !written)
      return written;
  }
  return {};
}

}  // namespace pinstep
