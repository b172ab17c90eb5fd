#include "envtools/cli/choosing.h"

#include <chrono>
#include <cstdio>

#include "envtools/base/fd.h"
#include "envtools/base/text.h"
#include "envtools/cli/completing.h"
#include "envtools/cli/locking.h"
#include "envtools/pin/pin.h"
#include "envtools/resolve/solved.h"

namespace pinstep::cli {
namespace {

constexpr std::size_t kShownChanges = 6;

void say(const std::string& line) { std::fprintf(stderr, "pinstep: %s\n", printable(line).c_str()); }

std::string command_for(const Spec& spec) { return "'pinstep lock " + shell_quote(spec.path) + "'"; }

Error spec_changed(const Spec& spec, const std::vector<std::string>& changes) {
  std::string shown;
  for (std::size_t i = 0; i < std::min(changes.size(), kShownChanges); ++i)
    shown += (shown.empty() ? "" : ", ") + changes[i];
  if (changes.size() > kShownChanges)
    shown += ", and " + std::to_string(changes.size() - kShownChanges) + " more";
  return {ErrorKind::conflict, "'" + spec.path + "' was changed since it was locked: " + shown,
          command_for(spec) + " solves it anew; --env-lock=update does so at submission"};
}

Result<ChosenLock> read_chosen(const World& world, const Place& place, const NamedEnv& env) {
  auto file = lock_file_of(world, place, env);
  if (!file) return tl::unexpected(file.error());
  auto lock = parse_lock(file->text, file->path);
  if (!lock) return tl::unexpected(lock.error());
  return ChosenLock{std::move(*file), std::move(*lock), ""};
}

std::string key_of(const Spec& spec, const LockOptions& options) {
  return spec_key({spec, platforms_to_lock(options.platforms, spec, nullptr),
                   profile_to_lock(options, own_platform(), nullptr), options.channels,
                   priority_to_lock(options, nullptr)});
}

class SpecLocking {
 public:
  SpecLocking(const Place& place, Progress& progress, const Spec& spec, LockOptions options, Beside where)
      : place_(place),
        progress_(progress),
        spec_(spec),
        options_(std::move(options)),
        beside_(lock_path_of(spec.path)),
        where_(where) {}

  Result<ChosenLock> choose() {
    auto check = check_lock(spec_, beside_, options_);
    if (!check) return tl::unexpected(check.error());
    const auto use = place_.settings.lock;
    if (use == Settings::LockUse::update) return update(*check);
    if (check->state == LockState::changed && check->ours)
      return tl::unexpected(spec_changed(spec_, check->changes));
    if (check->state == LockState::changed)
      say("note: '" + beside_ + "' was made by another program, so whether it fits its spec is not checked");
    if (check->state != LockState::none)
      return ChosenLock{{beside_, std::move(check->text)}, std::move(*check->lock), spec_.name};
    if (use == Settings::LockUse::frozen)
      return fail(ErrorKind::not_found, "'" + spec_.path + "' has no lock, and none may be made (frozen)",
                  command_for(spec_) + " makes it");
    return first_time();
  }

 private:
  bool wants_beside() const { return where_ == Beside::always || progress_.on_terminal(); }
  std::string key() const { return key_of(spec_, options_); }

  Result<Lock> solve(const Lock* before) {
    if (const auto ready = add_solver(options_, place_.settings, progress_); !ready)
      return tl::unexpected(ready.error());
    auto lock = make_lock(spec_, options_, before);
    progress_.clear();
    return lock;
  }

  Result<ChosenLock> first_time() {
    const auto begin = std::chrono::steady_clock::now();
    const std::string spec_key = key();
    if (auto kept = find_solved(place_.stores, spec_key, place_.trust))
      return handed_out({std::move(*kept), false}, begin);
    auto solved = solve_once(
        place_.stores, spec_key, place_.trust, [&] { return solve(nullptr); },
        [&](const std::string& holder) { say("waiting for " + holder + ", who is solving the same spec"); });
    if (!solved) return tl::unexpected(solved.error());
    return handed_out(std::move(*solved), begin);
  }

  // The lock goes where people look for it, if there are any.
  Result<ChosenLock> handed_out(SolvedLock solved, std::chrono::steady_clock::time_point begin) {
    auto lock = parse_lock(solved.lock.text, solved.lock.path);
    if (!lock) return tl::unexpected(lock.error());
    std::string path = solved.lock.path;
    if (wants_beside() && save_lock(*lock, beside_)) path = beside_;
    if (solved.solved || path == beside_) tell(*lock, path, solved.solved, begin);
    return ChosenLock{{path, std::move(solved.lock.text)}, std::move(*lock), spec_.name};
  }

  Result<ChosenLock> update(const LockCheck& check) {
    const auto begin = std::chrono::steady_clock::now();
    options_.update.all = true;
    auto lock = solve(check.lock && check.ours ? &*check.lock : nullptr);
    if (!lock) return tl::unexpected(lock.error());
    const auto store = prepare_one(place_.stores);
    if (!store) return tl::unexpected(store.error());
    auto kept = keep_lock(*store, write_lock(*lock));
    if (!kept) return tl::unexpected(kept.error());
    std::string path = kept->path;
    if (check.state != LockState::none || wants_beside()) {
      if (const auto saved = save_lock(*lock, beside_); !saved) return tl::unexpected(saved.error());
      path = beside_;
    } else if (const auto known = write_once(store->solved(key()), kept->digest + "\n"); !known) {
      return tl::unexpected(known.error());
    }
    tell(*lock, path, true, begin);
    return ChosenLock{{path, std::move(kept->text)}, std::move(*lock), spec_.name};
  }

  void tell(const Lock& lock, const std::string& path, bool solved,
            std::chrono::steady_clock::time_point begin) const {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    char time[32];
    std::snprintf(time, sizeof time, "%.1f s", seconds);
    say((solved ? "solved '" : "took the lock of '") + spec_.path + "' in " + time + ": " +
        std::to_string(lock.packages.size()) + " packages, lock " + path);
  }

  const Place& place_;
  Progress& progress_;
  const Spec& spec_;
  LockOptions options_;
  std::string beside_;
  Beside where_;
};

}  // namespace

Result<ChosenLock> choose_lock(const World& world, const Place& place, const NamedEnv& env, Beside beside,
                               Progress& progress) {
  if (env.kind == NamedEnv::Kind::lock) {
    auto lock = read_chosen(world, place, env);
    if (!lock) return lock;
    return completed(world, place, std::move(*lock), progress);
  }
  const auto spec = load_spec(env.path);
  if (!spec) return tl::unexpected(spec.error());
  auto options = lock_options(world, place.settings, progress);
  if (!options) return tl::unexpected(options.error());
  return SpecLocking(place, progress, *spec, std::move(*options), beside).choose();
}

std::optional<Error> changed_since_locked(const World& world, const Place& place,
                                          const std::string& spec_path) {
  const auto spec = load_spec(spec_path);
  if (!spec) return spec.error();
  Progress progress;
  const auto options = lock_options(world, place.settings, progress);
  if (!options) return options.error();
  const auto check = check_lock(*spec, lock_path_of(spec_path), *options);
  if (!check) return check.error();
  if (check->state != LockState::changed || !check->ours) return std::nullopt;
  return spec_changed(*spec, check->changes);
}

Result<std::optional<LockFile>> stored_lock(const World& world, const Place& place,
                                            const std::string& spec_path) {
  const auto spec = load_spec(spec_path);
  if (!spec) return tl::unexpected(spec.error());
  Progress progress;
  const auto options = lock_options(world, place.settings, progress);
  if (!options) return tl::unexpected(options.error());
  auto kept = find_solved(place.stores, key_of(*spec, *options), place.trust);
  if (!kept) return std::optional<LockFile>();
  return LockFile{std::move(kept->path), std::move(kept->text)};
}

}  // namespace pinstep::cli
