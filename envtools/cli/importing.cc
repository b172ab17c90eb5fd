#include "envtools/cli/importing.h"

#include <algorithm>
#include <cstdio>

#include "envtools/base/fd.h"
#include "envtools/base/text.h"
#include "envtools/cli/completing.h"
#include "envtools/cli/locking.h"
#include "envtools/hash/hash.h"
#include "envtools/lock/keys.h"
#include "envtools/pin/pin.h"
#include "envtools/piplock/merge.h"
#include "envtools/piplock/requirements.h"

namespace pinstep::cli {
namespace {

constexpr std::string_view kPythonKey = "pinstep.python";  // of custom_metadata: what --python said

constexpr std::string_view kOptions[] = {"python", "extra", "group", "fetch-hashes"};

void say_note(const std::string& note) { std::fprintf(stderr, "pinstep: note: %s\n", printable(note).c_str()); }

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

Result<void> refuse_options(const Parsed& parsed, std::string_view why,
                            std::initializer_list<std::string_view> but = {}) {
  for (const std::string_view option : kOptions)
    if (parsed.has(option) && std::find(but.begin(), but.end(), option) == but.end())
      return fail(ErrorKind::usage, "--" + std::string(option) + " " + std::string(why));
  return {};
}

PipChoice choice_of(const Parsed& parsed) {
  const auto extras = parsed.all("extra"), groups = parsed.all("group");
  return {{extras.begin(), extras.end()}, {groups.begin(), groups.end()}};
}

bool names_a_file(const std::string& python) {
  return python.find('/') != std::string::npos || python.ends_with(".yml") || python.ends_with(".yaml") ||
         python.ends_with(".lock") || python.ends_with(".txt");
}

class Importing {
 public:
  Importing(const World& world, const ForeignLock& foreign, const Parsed& parsed, const Settings& settings,
            LockOptions options, const Lock* before, Progress& progress)
      : world_(world),
        foreign_(foreign),
        parsed_(parsed),
        settings_(settings),
        options_(std::move(options)),
        before_(before),
        progress_(progress) {}

  Result<Lock> import() {
    auto lock = foreign_.pip == PipLockKind::none           ? whole()
                : foreign_.pip == PipLockKind::requirements ? resolved()
                                                            : with_wheels();
    if (!lock) return lock;
    lock->sources = {base_name(foreign_.path)};
    lock->custom[std::string(kInputKey)] = sha256_hex(foreign_.text);
    if (const std::string python = asked_python(); !python.empty())
      lock->custom[std::string(kPythonKey)] = python;
    return lock;
  }

 private:
  // ---- locks that say all

  Result<Lock> whole() const {
    if (const auto usual = refuse_options(parsed_, "goes with a lock of Python packages", {"fetch-hashes"});
        !usual)
      return tl::unexpected(usual.error());
    auto lock = parse_lock(foreign_.text, foreign_.path, foreign_.part);
    if (!lock) return lock;
    for (const std::string& note : lock->notes) say_note(note);
    const auto place = load_place(world_, "");
    if (!place) return tl::unexpected(place.error());
    ChosenLock chosen{{foreign_.path, foreign_.text}, std::move(*lock), ""};
    const auto missing = parsed_.has("fetch-hashes") ? Unhashed::fetched : Unhashed::refused;
    auto done = completed(world_, *place, std::move(chosen), progress_, missing);
    if (!done) return tl::unexpected(done.error());
    done->lock.origin = Lock::Origin::conda_lock;
    return std::move(done->lock);
  }

  // ---- locks of Python packages

  std::string asked_python() const {
    if (const auto asked = parsed_.last("python")) return *asked;
    if (before_ == nullptr) return {};
    const auto kept = before_->custom.find(std::string(kPythonKey));
    return kept == before_->custom.end() ? "" : kept->second;
  }

  tl::unexpected<Error> no_python() const {
    return fail(ErrorKind::usage, foreign_.path + ":1: nothing says which Python the packages are for",
                "--python=3.12 asks for one of conda's, --python=LOCK takes that of a lock");
  }

  // The conda half: of the lock before, of the lock that is named, or solved.
  Result<Lock> conda_half() {
    const std::string python = asked_python();
    if (python.empty()) return no_python();
    if (!parsed_.has("python")) return conda_packages(*before_);
    if (!names_a_file(python)) return solved(python_spec());
    const auto named = load_lock(absolute(python, world_.directory));
    if (!named) return tl::unexpected(named.error());
    return conda_packages(*named);
  }

  static Lock conda_packages(const Lock& from) {
    Lock lock = from;
    lock.content_hash.clear();
    lock.variables = from.variables;
    std::erase_if(lock.packages,
                  [](const LockedPackage& package) { return package.manager != Manager::conda; });
    return lock;
  }

  Spec python_spec() const {
    Spec spec;
    spec.path = foreign_.path;
    spec.conda = {{"python=" + asked_python(), 1}};
    return spec;
  }

  Result<Lock> solved(const Spec& spec) {
    if (auto solver = add_solver(options_, settings_, progress_); !solver)
      return tl::unexpected(solver.error());
    auto lock = make_lock(spec, options_, nullptr);
    progress_.clear();
    if (!lock) return lock;
    lock->custom.erase("pinstep.spec");  // there is none
    return lock;
  }

  std::map<std::string, std::string> glibc_of(const Lock& lock) const {
    std::map<std::string, std::string> versions;
    for (const std::string& platform : lock.platforms)
      for (const VirtualPackage& package : profile_to_lock(options_, platform, &lock))
        if (package.name == "__glibc") versions[platform] = package.version;
    return versions;
  }

  Result<Lock> with_wheels() {
    if (const auto usual = refuse_options(parsed_, "goes with a list of URLs", {"python", "extra", "group"});
        !usual)
      return tl::unexpected(usual.error());
    const auto pip = parse_pip_lock(foreign_.text, foreign_.path);
    if (!pip) return tl::unexpected(pip.error());
    auto lock = conda_half();
    if (!lock) return lock;
    const auto notes = add_wheels(*lock, *pip, choice_of(parsed_), glibc_of(*lock), foreign_.path);
    if (!notes) return tl::unexpected(notes.error());
    for (const std::string& note : *notes) say_note(note);
    return lock;
  }

  Result<Lock> resolved() {
    if (const auto usual = refuse_options(parsed_, "does not go with requirements", {"python"}); !usual)
      return tl::unexpected(usual.error());
    if (asked_python().empty()) return no_python();
    if (names_a_file(asked_python()))
      return fail(ErrorKind::usage, "--python takes a version here: requirements are resolved with it");
    Spec spec = python_spec();
    spec.pip = requirement_lines(foreign_.text);
    spec.has_pip_section = true;
    if (const auto read = read_requirement_files(spec); !read) return tl::unexpected(read.error());
    auto lock = solved(spec);
    if (!lock) return lock;
    if (const auto allowed = check_allowed(*lock, spec.pip, foreign_.path); !allowed)
      return tl::unexpected(allowed.error());
    return lock;
  }

  const World& world_;
  const ForeignLock& foreign_;
  const Parsed& parsed_;
  const Settings& settings_;
  LockOptions options_;
  const Lock* before_;
  Progress& progress_;
};

}  // namespace

Result<std::optional<ForeignLock>> foreign_lock(const std::string& path, const Parsed& parsed) {
  const auto none = [&]() -> Result<std::optional<ForeignLock>> {
    if (const auto usual = refuse_options(parsed, "goes with a lock of another program"); !usual)
      return tl::unexpected(usual.error());
    return std::optional<ForeignLock>();
  };
  ForeignLock foreign;
  foreign.path = path;
  auto file = read_file(path, kLockSizeLimit, Links::followed);
  const std::size_t colon = path.rfind(':');
  if (!file && colon != std::string::npos && path.find('/', colon) == std::string::npos) {
    foreign.path = path.substr(0, colon);
    foreign.part = path.substr(colon + 1);
    file = read_file(foreign.path, kLockSizeLimit, Links::followed);
  }
  if (!file) return none();  // reading it as a spec says why
  foreign.text = std::move(file->text);
  const bool whole = has_environments(foreign.text) || is_explicit(foreign.text);
  if (!whole && file_kind(foreign.text) == FileKind::unknown) foreign.pip = pip_lock_kind(foreign.text);
  if (!whole && foreign.pip == PipLockKind::none) return none();
  return std::optional<ForeignLock>(std::move(foreign));
}

std::string imported_path(const ForeignLock& foreign) {
  std::string path = lock_path_of(foreign.path);
  if (foreign.part.empty()) return path;
  std::string part = foreign.part;
  std::replace(part.begin(), part.end(), '@', '-');
  while (part.starts_with('-')) part.erase(0, 1);
  return path.insert(path.size() - std::string_view("lock.yml").size(), part + "-");
}

bool is_imported_from(const Lock& lock, std::string_view text) {
  const auto input = lock.custom.find(std::string(kInputKey));
  return input != lock.custom.end() && input->second == sha256_hex(text);
}

Result<Lock> import_lock(const World& world, const ForeignLock& foreign, const Parsed& parsed,
                         const Settings& settings, LockOptions options, const Lock* before,
                         Progress& progress) {
  return Importing(world, foreign, parsed, settings, std::move(options), before, progress).import();
}

}  // namespace pinstep::cli
