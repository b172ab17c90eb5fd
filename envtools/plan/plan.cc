#include "envtools/plan/plan.h"

#include <algorithm>
#include <set>

#include "envtools/base/text.h"
#include "envtools/json/json.h"
#include "envtools/plan/layout.h"
#include "envtools/plan/prefix.h"
#include "envtools/plan/record.h"
#include "envtools/plan/wheel_layout.h"

namespace pinstep {
namespace {

using Kind = PlannedFile::Kind;

// Frozen prefixes (CEP 22) and environments that pip must leave alone (PEP 668) say why.
constexpr const char* kFrozen =
    "{\"message\": \"This environment is made from a lock file and does not change. "
    "Change the spec, lock and build again.\"}\n";
constexpr const char* kExternallyManaged =
    "[externally-managed]\n"
    "Error=This environment is made from a lock file and does not change.\n"
    " Add the package to the spec, lock and build again, or use a virtual environment:\n"
    " python -m venv --system-site-packages DIRECTORY\n";

constexpr std::size_t kShownPrefix = 256;  // bytes, in the message that it is too long

Result<void> check_prefix(const std::string& prefix) {
  if (!prefix.starts_with('/')) return fail(ErrorKind::invalid, "the prefix '" + prefix + "' is not absolute");
  const auto bad = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  if (prefix.find_first_of("\"'\\$`:") != std::string::npos || std::any_of(prefix.begin(), prefix.end(), bad))
    return fail(ErrorKind::invalid,
                "the prefix '" + printable(prefix) + "' has a character that scripts and PATH cannot carry",
                "put the store at a path without quotes, ':', '\\', '$' and control characters");
  return {};
}

Result<void> check_names(const PlanInput& input) {
  std::set<std::string> names;
  for (const CondaSource& source : input.conda)
    if (!names.insert(source.info.name).second)
      return fail(ErrorKind::invalid, "the lock has '" + source.info.name + "' more than once");
  names.clear();
  for (const WheelSource& source : input.wheels)
    if (!names.insert(source.locked.name).second)
      return fail(ErrorKind::invalid, "the lock has the wheel '" + source.locked.name + "' more than once");
  return {};
}

Result<void> check_link_scripts(const PlanInput& input) {
  std::string list;
  for (const CondaSource& source : input.conda)
    for (const std::string& script : source.info.link_scripts)
      list += (list.empty() ? "" : ", ") + ("'" + script + "' of '" + source.info.name + "'");
  if (list.empty()) return {};
  return fail(ErrorKind::refused, "pinstep does not run link scripts, and packages have some: " + list,
              "look for a build of the package without scripts, or leave it out");
}

std::optional<PlannedPython> find_python(const std::vector<CondaSource>& packages) {
  for (const CondaSource& source : packages) {
    if (source.info.name != "python") continue;
    const auto parts = split(source.info.version, '.');
    PlannedPython python;
    python.version = std::string(parts[0]) + (parts.size() > 1 ? "." + std::string(parts[1]) : "");
    python.program = "bin/python" + python.version;
    python.library = "lib/python" + python.version;
    python.site = source.info.python_site_packages_path.empty() ? python.library + "/site-packages"
                                                                : source.info.python_site_packages_path;
    return python;
  }
  return std::nullopt;
}

// Where a path of a package lies in the prefix.
std::string placed(const std::string& path, Noarch noarch, const std::optional<PlannedPython>& python) {
  constexpr std::string_view kSite = "site-packages/", kScripts = "python-scripts/";
  if (noarch != Noarch::python) return path;
  if (path.starts_with(kSite)) return python->site + "/" + path.substr(kSite.size());
  if (path.starts_with(kScripts)) return "bin/" + path.substr(kScripts.size());
  return path;
}

PlannedFile planned(const CondaSource& source, std::size_t index, std::string path, std::size_t owner) {
  const PackagePath& entry = source.info.paths[index];
  const FileFacts& facts = source.facts[index];
  PlannedFile file;
  file.path = std::move(path);
  file.owner = owner;
  file.executable = facts.executable;
  file.time = facts.time;
  if (entry.type == PackagePath::Type::symlink) {
    file.kind = Kind::symlink;
    file.content = facts.link_text;
    file.time = source.info.timestamp + 1;  // in the cache it is the time of unpacking
    return file;
  }
  file.source = source.directory + "/" + entry.path;
  file.size = entry.size;
  file.sha256 = entry.sha256;
  if (entry.no_link) file.kind = Kind::copy;
  if (entry.mode == PackagePath::Mode::none) return file;
  file.kind = entry.mode == PackagePath::Mode::text ? Kind::text : Kind::binary;
  file.placeholder = entry.placeholder;
  // Later than anything in the package: a .pyc made of the unpatched source must not pass for current.
  file.time = source.info.timestamp + 1;
  return file;
}

PlannedFile generated(std::string path, std::string content, std::int64_t time) {
  PlannedFile file;
  file.path = std::move(path);
  file.kind = Kind::generated;
  file.content = std::move(content);
  file.time = time;
  return file;
}

class Planner {
 public:
  explicit Planner(PlanInput input) : input_(std::move(input)) {}

  Result<Plan> plan() {
    plan_.prefix = input_.prefix;
    plan_.python = find_python(input_.conda);
    const std::vector<std::size_t> order = link_order(input_.conda);
    plan_.packages.resize(order.size() + input_.wheels.size());
    set_time();
    add_own_files();
    // Who is linked last has the path: so the last one asks first.
    for (std::size_t i = order.size(); i-- > 0;)
      if (auto added = add_conda(input_.conda[order[i]], i); !added) return tl::unexpected(added.error());
    if (auto added = add_wheels(order.size()); !added) return tl::unexpected(added.error());
    note_losses();
    if (auto inside = check_links(); !inside) return tl::unexpected(inside.error());
    plan_.directories = layout_.directories();
    plan_.files = std::move(layout_).take_files();
    choose_sources();
    return std::move(plan_);
  }

 private:
  void set_time() {
    for (const CondaSource& source : input_.conda) plan_.time = std::max(plan_.time, source.info.timestamp + 1);
    for (const WheelSource& source : input_.wheels)
      for (const WheelFile& file : source.info.files) plan_.time = std::max(plan_.time, file.time + 1);
  }

  void add_own_files() {
    const auto add = [&](const std::string& path, std::string text) {
      layout_.add(generated(path, std::move(text), plan_.time));
    };
    add("conda-meta/history", "");
    add("conda-meta/frozen", kFrozen);
    if (!input_.variables.empty())
      add("conda-meta/state", dump_json(Json{{"env_vars", Json(input_.variables)}}, 2) + "\n");
    if (plan_.python) add(plan_.python->library + "/EXTERNALLY-MANAGED", kExternallyManaged);
  }

  Result<void> add_conda(const CondaSource& source, std::size_t owner) {
    const PackageInfo& info = source.info;
    if (info.noarch == Noarch::python && !plan_.python)
      return fail(ErrorKind::invalid, "'" + info.name + "' is a python package and the lock has no python");
    plan_.packages[owner] = planned_package(source, input_.channels);
    for (const EntryPoint& entry : info.entry_points) add_entry_point(entry, info.timestamp + 1, owner);
    for (std::size_t i = 0; i < info.paths.size(); ++i) {
      const PackagePath& entry = info.paths[i];
      if (auto fits = check_length(entry, info.name); !fits) return fits;
      std::string path = placed(entry.path, info.noarch, plan_.python);
      const bool is_directory = entry.type == PackagePath::Type::directory;
      if (path.starts_with("conda-meta/")) {
        plan_.notes.push_back("'" + path + "' of '" + info.name +
                              "' is left out: conda-meta is not a package's");
        continue;
      }
      const auto obstacle =
          is_directory ? layout_.add_directory(path) : layout_.add(planned(source, i, path, owner));
      if (!obstacle)
        plan_.packages[owner].paths.emplace(std::move(path), entry);
      else
        lost(*obstacle, path, entry.sha256, owner);
    }
    return {};
  }

  void add_entry_point(const EntryPoint& entry, std::int64_t time, std::size_t owner) {
    if (!plan_.python) return;
    const std::string path = "bin/" + entry.command;
    PlannedFile file =
        generated(path, entry_point_script(input_.prefix + "/" + plan_.python->program, entry), time);
    file.executable = true;
    file.owner = owner;
    if (const auto obstacle = layout_.add(std::move(file)))
      lost(*obstacle, path, "", owner);
    else
      plan_.packages[owner].entry_points.push_back(path);
  }

  Result<void> check_length(const PackagePath& entry, const std::string& package) const {
    if (entry.mode != PackagePath::Mode::binary || entry.placeholder.size() >= input_.prefix.size()) return {};
    return fail(ErrorKind::invalid,
                "the prefix '" + input_.prefix.substr(0, kShownPrefix) +
                    (input_.prefix.size() > kShownPrefix ? "…" : "") + "' is " +
                    std::to_string(input_.prefix.size()) + " bytes long; '" + entry.path + "' of '" + package +
                    "' has room for " + std::to_string(entry.placeholder.size()),
                "put the store at a shorter path");
  }

  Result<void> add_wheels(std::size_t first) {
    if (!input_.wheels.empty() && !plan_.python)
      return fail(ErrorKind::invalid, "the lock has wheels and no python to install them for");
    std::sort(input_.wheels.begin(), input_.wheels.end(),
              [](const WheelSource& a, const WheelSource& b) { return a.locked.name < b.locked.name; });
    for (std::size_t i = 0; i < input_.wheels.size(); ++i) {
      const WheelSource& source = input_.wheels[i];
      PlannedPackage& package = plan_.packages[first + i];
      package.name = source.locked.name;
      package.version = source.locked.version;
      package.is_wheel = true;
      auto files = lay_out_wheel(source, *plan_.python, input_.prefix);
      if (!files) return tl::unexpected(files.error());
      for (PlannedFile& file : *files) {
        file.owner = first + i;
        const std::string path = file.path, sha256 = file.sha256;
        const auto obstacle = layout_.add(std::move(file));
        if (!obstacle) continue;
        if (auto allowed = check_wheel_conflict(*obstacle, path, sha256, source.locked.name); !allowed)
          return allowed;
        lost(*obstacle, path, sha256, first + i);
      }
    }
    return {};
  }

  // Among wheels the first name wins; a conda package's file is never replaced.
  Result<void> check_wheel_conflict(std::size_t obstacle, const std::string& path, const std::string& sha256,
                                    const std::string& wheel) const {
    const PlannedFile* file = obstacle == kNoOwner ? nullptr : &layout_.files()[obstacle];
    const PlannedPackage* owner =
        file == nullptr || file->owner == kNoOwner ? nullptr : &plan_.packages[file->owner];
    if (owner != nullptr && owner->is_wheel) return {};
    if (file != nullptr && file->path == path && !sha256.empty() && file->sha256 == sha256) return {};
    const std::string whose = owner == nullptr ? "the environment itself" : "the package '" + owner->name + "'";
    return fail(ErrorKind::conflict, "the wheel '" + wheel + "' would replace '" + path + "' of " + whose,
                owner == nullptr
                    ? ""
                    : "take '" + wheel + "' from conda, or take '" + owner->name + "' out of the spec");
  }

  // A path that `owner` does not get. The same content is no loss.
  void lost(std::size_t obstacle, const std::string& path, const std::string& sha256, std::size_t owner) {
    if (obstacle == kNoOwner) {
      losses_[{kNoOwner, owner}].push_back(path);
      return;
    }
    const PlannedFile& file = layout_.files()[obstacle];
    const bool ours = file.owner == kNoOwner && file.path == path;  // EXTERNALLY-MANAGED of the distribution
    const bool same = file.path == path && !sha256.empty() && file.sha256 == sha256;
    if (!ours && !same) losses_[{file.owner, owner}].push_back(path);
  }

  void note_losses() {
    for (const auto& [pair, paths] : losses_) {
      const std::string more = paths.size() == 1 ? "" : " and " + std::to_string(paths.size() - 1) + " more";
      const std::string winner =
          pair.first == kNoOwner ? "something" : "'" + plan_.packages[pair.first].name + "'";
      plan_.notes.push_back("'" + paths.front() + "'" + more + " of '" + plan_.packages[pair.second].name +
                            "' left out: " + winner + " is in the way");
    }
    std::sort(plan_.notes.begin(), plan_.notes.end());
  }

  Result<void> check_links() const {
    for (const PlannedFile& file : layout_.files())
      if (file.kind == Kind::symlink && !layout_.stays_inside(file))
        return fail(ErrorKind::refused, "'" + file.path + "' of '" + plan_.packages[file.owner].name +
                                            "' is a symbolic link out of the prefix, to '" +
                                            printable(file.content) + "'");
    return {};
  }

  // Python sources of the library and of packages, where no package brings the compiled form. One that holds
  // the prefix stays as it is: its compiled form would hold it too, where the tree hash cannot take it out.
  void choose_sources() {
    if (!plan_.python || !input_.options.compile) return;
    const auto is_program = [&](const PlannedFile& file) { return file.path == plan_.python->program; };
    if (std::none_of(plan_.files.begin(), plan_.files.end(), is_program)) return;
    const std::string below = plan_.python->library + "/", below_site = plan_.python->site + "/";
    std::string tag = "cpython-" + plan_.python->version;
    tag.erase(std::remove(tag.begin(), tag.end(), '.'), tag.end());
    std::set<std::string_view> compiled;
    for (const PlannedFile& file : plan_.files)
      if (file.path.ends_with(".pyc")) compiled.insert(file.path);
    for (std::size_t i = 0; i < plan_.files.size(); ++i) {
      const PlannedFile& file = plan_.files[i];
      const bool fixed = file.kind == Kind::link || file.kind == Kind::copy;
      if (!fixed || !file.path.ends_with(".py")) continue;
      if (!file.path.starts_with(below) && !file.path.starts_with(below_site)) continue;
      const std::size_t slash = file.path.rfind('/') + 1;
      const std::string stem = file.path.substr(slash, file.path.size() - slash - 3);
      if (!compiled.contains(file.path.substr(0, slash) + "__pycache__/" + stem + "." + tag + ".pyc"))
        plan_.compile.push_back(i);
    }
  }

  PlanInput input_;
  Plan plan_;
  Layout layout_;
  std::map<std::pair<std::size_t, std::size_t>, std::vector<std::string>> losses_;  // {winner, loser} → paths
};

}  // namespace

Result<Plan> make_plan(PlanInput input) {
  using Check = Result<void>;
  const Check checks[] = {check_prefix(input.prefix), check_names(input), check_link_scripts(input)};
  for (const Check& check : checks)
    if (!check) return tl::unexpected(check.error());
  return Planner(std::move(input)).plan();
}

}  // namespace pinstep
