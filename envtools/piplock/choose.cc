#include <algorithm>
#include <set>
#include <utility>

#include "envtools/base/text.h"
#include "envtools/hash/hash.h"
#include "envtools/lock/names.h"
#include "envtools/piplock/marker.h"
#include "envtools/piplock/piplock.h"
#include "envtools/yaml/yaml.h"

namespace pinstep {
namespace {

std::string in_quotes(std::string_view text) { return "'" + printable(text) + "'"; }

class Choosing {
 public:
  Choosing(const PipLock& lock, const PythonTarget& target, const WheelTags& tags, const std::string& platform,
           const PipChoice& choice, const std::string& path)
      : lock_(lock),
        target_(target),
        tags_(tags),
        platform_(platform),
        choice_(choice),
        path_(path),
        environment_(linux_markers(target.version, target.machine)) {}

  Result<ChosenWheels> choose() {
    if (const auto fits = check_python(lock_.requires_python, 1); !fits) return tl::unexpected(fits.error());
    const auto done = lock_.kind == PipLockKind::uv ? walk() : take_marked();
    if (!done) return tl::unexpected(done.error());
    return std::move(chosen_);
  }

 private:
  tl::unexpected<Error> fail_at(ErrorKind kind, int line, std::string_view cause, std::string hint = {}) const {
    return fail(kind, location(path_, line) + std::string(cause), std::move(hint));
  }

  Result<void> check_python(const std::string& wanted, int line) const {
    const auto fits = fits_specifiers(target_.version, wanted);
    if (!fits) return fail_at(ErrorKind::invalid, line, fits.error().cause);
    if (!*fits)
      return fail_at(ErrorKind::unsatisfiable, line,
                     "Python " + wanted + " is wanted, and this is for Python " + target_.version,
                     "--python=VERSION names another");
    return {};
  }

  Result<bool> holds(const std::string& marker, int line) const {
    if (marker.empty()) return true;
    auto value = marker_holds(marker, environment_);
    if (!value) return fail_at(ErrorKind::invalid, line, value.error().cause);
    return value;
  }

  // ---- pylock.toml

  Result<void> take_marked() {
    environment_.extras = choice_.extras;
    environment_.groups = choice_.groups.empty() ? lock_.default_groups : choice_.groups;
    for (const PipPackage& package : lock_.packages) {
      const auto wanted = holds(package.marker, package.line);
      if (!wanted) return tl::unexpected(wanted.error());
      if (!*wanted) continue;
      if (const auto done = take(package); !done) return done;
    }
    return {};
  }

  // ---- uv.lock

  Result<void> walk() {
    if (std::none_of(lock_.packages.begin(), lock_.packages.end(),
                     [](const PipPackage& p) { return p.own_code; }))
      return fail_at(ErrorKind::invalid, 1, "the lock is of no project, so nothing says what of it is wanted",
                     "'uv export --format pylock.toml' writes one that does");
    std::set<std::string, std::less<>> extras = choice_.extras, groups = choice_.groups;
    for (const PipPackage& package : lock_.packages) {
      if (!package.own_code) continue;
      if (const auto done = follow(package, package.needs); !done) return done;
      for (const auto& [name, needs] : package.extras)
        if (choice_.extras.contains(name)) {
          extras.erase(name);
          if (const auto done = follow(package, needs); !done) return done;
        }
      for (const auto& [name, needs] : package.groups)
        if (choice_.groups.contains(name)) {
          groups.erase(name);
          if (const auto done = follow(package, needs); !done) return done;
        }
    }
    if (!extras.empty())
      return fail_at(ErrorKind::invalid, 1, "no project has an extra " + in_quotes(*extras.begin()));
    if (!groups.empty())
      return fail_at(ErrorKind::invalid, 1, "no project has a group " + in_quotes(*groups.begin()));
    while (!open_.empty()) {
      const auto [package, needs] = open_.back();
      open_.pop_back();
      if (const auto done = follow(*package, *needs); !done) return done;
    }
    for (const PipPackage* package : reached_)
      if (const auto done = take(*package); !done) return done;
    return {};
  }

  Result<void> follow(const PipPackage& from, const std::vector<PipNeed>& needs) {
    reach(from, from.own_code);
    for (const PipNeed& need : needs) {
      const auto wanted = holds(need.marker, need.line);
      if (!wanted) return tl::unexpected(wanted.error());
      if (!*wanted) continue;
      const auto found =
          std::find_if(lock_.packages.begin(), lock_.packages.end(), [&](const PipPackage& package) {
            return package.name == need.name && (need.version.empty() || package.version == need.version);
          });
      if (found == lock_.packages.end())
        return fail_at(ErrorKind::invalid, need.line,
                       in_quotes(need.name) + " is not among the packages of the lock");
      reach(*found, false);
      for (const std::string& extra : need.extras)
        if (const auto more = found->extras.find(extra); more != found->extras.end())
          open(*found, more->second);
    }
    return {};
  }

  void reach(const PipPackage& package, bool is_root) {
    if (std::find(reached_.begin(), reached_.end(), &package) != reached_.end()) return;
    reached_.push_back(&package);
    if (!is_root) open(package, package.needs);
  }

  void open(const PipPackage& package, const std::vector<PipNeed>& needs) {
    if (opened_.insert(&needs).second) open_.emplace_back(&package, &needs);
  }

  // ---- one package

  Result<void> take(const PipPackage& package) {
    if (package.own_code) {
      chosen_.notes.push_back(location(path_, package.line) + in_quotes(package.name) +
                              " is code of yours in " + in_quotes(package.source) +
                              ", which no environment has in it");
      return {};
    }
    if (const auto fits = check_python(package.requires_python, package.line); !fits) return fits;
    const PipWheel* wheel = best(package);
    if (wheel == nullptr) return no_wheel(package);
    LockedPackage locked;
    locked.manager = Manager::pip;
    locked.name = package.name;
    locked.version = package.version.empty() ? std::string(split(wheel->file, '-')[1]) : package.version;
    locked.platform = platform_;
    locked.url = wheel->url;
    locked.sha256 = wheel->sha256;
    locked.size = wheel->size;
    for (const PipNeed& need : package.needs)
      if (const auto wanted = holds(need.marker, need.line); wanted && *wanted) locked.dependencies[need.name];
    if (!is_path_component(locked.version) || !is_hex(locked.sha256, 64) || locked.url.empty())
      return fail_at(ErrorKind::invalid, package.line,
                     "the wheel of " + in_quotes(package.name) + " has no version, place or sha256");
    if (!names_.insert(package.name).second)
      return fail_at(ErrorKind::invalid, package.line, in_quotes(package.name) + " is wanted in two versions");
    chosen_.packages.push_back(std::move(locked));
    return {};
  }

  const PipWheel* best(const PipPackage& package) const {
    const PipWheel* best = nullptr;
    std::size_t rank = 0;
    for (const PipWheel& wheel : package.wheels) {
      const auto place = tags_.rank(wheel.file);
      if (!place || (best != nullptr && *place >= rank)) continue;
      best = &wheel;
      rank = *place;
    }
    return best;
  }

  Result<void> no_wheel(const PipPackage& package) const {
    const std::string hint =
        "choose a version of it that has a wheel, or its conda package in an environment.yml";
    if (!package.source.empty())
      return fail_at(
          ErrorKind::unsatisfiable, package.line,
          in_quotes(package.name) + " comes from " + in_quotes(package.source) + ", which has to be built",
          "pinstep installs wheels: build one, or make it editable, so that it is no part of the environment");
    return fail_at(ErrorKind::unsatisfiable, package.line,
                   in_quotes(package.name) + " has no wheel for Python " + target_.version + " on " +
                       platform_ + " with glibc " + target_.glibc,
                   hint);
  }

  const PipLock& lock_;
  const PythonTarget& target_;
  const WheelTags& tags_;
  const std::string& platform_;
  const PipChoice& choice_;
  const std::string& path_;
  MarkerEnvironment environment_;
  ChosenWheels chosen_;
  std::set<std::string, std::less<>> names_;
  std::vector<const PipPackage*> reached_;
  std::set<const std::vector<PipNeed>*> opened_;
  std::vector<std::pair<const PipPackage*, const std::vector<PipNeed>*>> open_;
};

}  // namespace

Result<ChosenWheels> choose_wheels(const PipLock& lock, const PythonTarget& target, const std::string& platform,
                                   const PipChoice& choice, const std::string& path) {
  const auto tags = WheelTags::of(target);
  if (!tags) return tl::unexpected(tags.error());
  return Choosing(lock, target, *tags, platform, choice, path).choose();
}

}  // namespace pinstep
