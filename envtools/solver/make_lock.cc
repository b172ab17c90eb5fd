#include "envtools/solver/make_lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <tuple>

#include "envtools/base/fd.h"
#include "envtools/base/text.h"
#include "envtools/hash/hash.h"
#include "envtools/lock/keys.h"

namespace pinstep {
namespace {

constexpr std::string_view kSpecKey = "pinstep.spec";
constexpr std::string_view kInputKey = "pinstep.input.";
constexpr std::string_view kSourceKey = "pinstep.source.";
constexpr std::string_view kSolverKey = "pinstep.solver";
constexpr std::string_view kPriorityKey = "pinstep.channel_priority";
constexpr std::string_view kCutoffKey = "pinstep.exclude_newer";
constexpr std::string_view kProfileNameKey = "pinstep.profile";

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string directory_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

// Of a channel that is there under another URL this is a mirror.
void add(std::vector<Channel>& channels, const std::vector<Channel>& more) {
  for (const Channel& channel : more) {
    const auto there = std::find_if(channels.begin(), channels.end(),
                                    [&](const Channel& one) { return one.name == channel.name; });
    if (there == channels.end())
      channels.push_back(channel);
    else if (channel.url != there->url &&
             std::find(there->mirrors.begin(), there->mirrors.end(), channel.url) == there->mirrors.end())
      there->mirrors.push_back(channel.url);
  }
}

// What opens the channels and indexes: the configuration's, and what the spec's own URLs bring.
Access access_for(const Spec& spec, const ChannelConfig& config) {
  Access access = access_of(config);
  for (const SpecLine& channel : spec.channels)
    if (const auto url = expand_variables(channel.text, config.environment))
      note_credentials(access.credentials, *url);
  return access;
}

Result<std::vector<Channel>> channels_at(const std::string& entry, const Spec& spec, int line,
                                         const ChannelConfig& config) {
  auto found = expand_channel(entry, config);
  if (!found && line > 0)
    return fail(found.error().kind, spec.path + ":" + std::to_string(line) + ": " + found.error().cause,
                found.error().hint);
  return found;
}

// "conda-forge" of "conda-forge/linux-64::numpy"; empty where a spec names no channel.
std::string named_channel(std::string_view spec, std::string_view platform) {
  const std::size_t end = spec.find("::");
  if (end == std::string_view::npos || spec.substr(0, end).find_first_of(" [=<>!") != std::string_view::npos)
    return {};
  std::string_view name = spec.substr(0, end);
  for (const std::string_view subdir : {platform, std::string_view("noarch")})
    if (name.ends_with("/" + std::string(subdir))) name.remove_suffix(subdir.size() + 1);
  return std::string(name);
}

// The spec's channels, else the configured ones; and behind them those that only a `channel::package` names.
Result<std::vector<Channel>> channels_of(const Spec& spec, const ChannelConfig& config,
                                         std::string_view platform) {
  std::vector<SpecLine> entries = spec.channels;
  if (entries.empty())
    for (const std::string& name : config.channels) entries.push_back({name, 0});
  if (entries.empty()) entries.push_back({"defaults", 0});
  for (const SpecLine& line : spec.conda)
    if (const std::string name = named_channel(line.text, platform); !name.empty())
      entries.push_back({name, line.line});
  std::vector<Channel> channels;
  for (const SpecLine& entry : entries) {
    const auto found = channels_at(entry.text, spec, entry.line, config);
    if (!found) return tl::unexpected(found.error());
    add(channels, *found);
  }
  return channels;
}

std::string version_of(const std::vector<VirtualPackage>& profile, std::string_view name) {
  for (const VirtualPackage& package : profile)
    if (package.name == name) return package.version;
  return {};
}

void note_solver(Lock& lock, const SolveAnswer& answer) {
  std::string& text = lock.custom[std::string(kSolverKey)];
  const std::string name = answer.backend + " " + answer.version;
  if (text.find(name) == std::string::npos) text += (text.empty() ? "" : ", ") + name;
}

std::string setting_of(const Lock* lock, std::string_view key) {
  if (lock == nullptr) return {};
  const auto found = lock->custom.find(std::string(key));
  return found == lock->custom.end() ? std::string() : found->second;
}

std::optional<std::vector<VirtualPackage>> recorded_profile(const Lock& lock, std::string_view platform) {
  const auto text = lock.custom.find(std::string(kProfileKey) + std::string(platform));
  if (text == lock.custom.end()) return std::nullopt;
  std::vector<VirtualPackage> profile;
  for (const std::string_view word : split(text->second, ' '))
    if (const auto package = parse_virtual_package(word)) profile.push_back(*package);
  return profile;
}

class Solving {
 public:
  Solving(const Spec& spec, const LockOptions& options, const Lock* before)
      : spec_(spec), options_(options), before_(before), access_(access_for(spec, options.channels)) {}

  Result<void> add_platform(Lock& lock, const std::string& platform) const {
    if (const auto known = check_platform(platform); !known)
      return fail(known.error().kind, spec_.path + ": " + known.error().cause, known.error().hint);
    if (const auto covered = check_covered(platform); !covered) return covered;
    const auto profile = profile_to_lock(options_, platform, before_);
    const auto channels = channels_of(spec_, options_.channels, platform);
    if (!channels) return tl::unexpected(channels.error());
    options_.progress("solving for " + platform);
    SolveRequest request;
    set_common(request, platform, "repodata");
    request.channels = *channels;
    request.specs = spec_.conda;
    request.path = spec_.path;
    request.virtual_packages = profile;
    request.channel_priority = priority_to_lock(options_, before_);
    request.preferred = preferred(request, Manager::conda);
    auto conda = solve_conda(options_.programs, options_.environment, request);
    if (!conda) return tl::unexpected(conda.error());
    note_solver(lock, *conda);
    for (const Channel& channel : *channels) {
      const LockedChannel locked{channel.name, channel.url};
      if (std::find(lock.channels.begin(), lock.channels.end(), locked) == lock.channels.end())
        lock.channels.push_back(locked);
    }
    if (!spec_.pip.empty())
      if (auto done = add_wheels(lock, conda->packages, request); !done) return done;
    std::move(conda->packages.begin(), conda->packages.end(), std::back_inserter(lock.packages));
    lock.platforms.push_back(platform);
    lock.content_hash[platform] = content_hash(spec_);
    lock.custom[std::string(kProfileKey) + platform] = format_profile(profile);
    if (const std::string name = profile_name(platform); !name.empty())
      lock.custom[std::string(kProfileNameKey)] = name;
    lock.custom[std::string(kPriorityKey)] = request.channel_priority;
    if (!request.exclude_newer.empty()) lock.custom[std::string(kCutoffKey)] = request.exclude_newer;
    return {};
  }

 private:
  // The name of the profile that profile_to_lock() takes.
  std::string profile_name(const std::string& platform) const {
    if (options_.profile) return options_.profile->name;
    if (before_ != nullptr && recorded_profile(*before_, platform)) return setting_of(before_, kProfileNameKey);
    return options_.usual_profile.name;
  }

  // A profile that was asked for and is about other nodes would leave the baseline, silently.
  Result<void> check_covered(const std::string& platform) const {
    if (!options_.profile || options_.profile->covers(platform)) return {};
    std::string known;
    for (const auto& [name, packages] : options_.profile->platforms)
      known += (known.empty() ? "" : ", ") + name;
    const std::string& name = options_.profile->name;
    return fail(ErrorKind::invalid,
                "the profile" + (name.empty() ? "" : " '" + name + "'") + " says nothing about " + platform,
                "it is about " + known + "; --platform chooses, or add " + platform + " to it");
  }

  // What stays of the lock before: nothing where more than the spec has changed, since a build for processors
  // also fits nodes with GPUs.
  std::vector<Preferred> preferred(const SolveRequest& request, Manager manager) const {
    const std::string& platform = request.platform;
    std::vector<Preferred> staying;
    if (before_ == nullptr || options_.update.all) return staying;
    if (recorded_profile(*before_, platform) != request.virtual_packages ||
        setting_of(before_, kPriorityKey) != request.channel_priority ||
        setting_of(before_, kCutoffKey) != request.exclude_newer)
      return staying;
    const auto& moving = options_.update.names;
    for (const LockedPackage& package : before_->packages)
      if (package.manager == manager && package.platform == platform &&
          std::find(moving.begin(), moving.end(), package.name) == moving.end())
        staying.push_back({package.name, package.version, package.sha256});
    return staying;
  }

  // `solved`: what the conda part was the answer to.
  Result<void> add_wheels(Lock& lock, const std::vector<LockedPackage>& conda,
                          const SolveRequest& solved) const {
    const std::string& platform = solved.platform;
    const auto python = std::find_if(conda.begin(), conda.end(),
                                     [](const LockedPackage& package) { return package.name == "python"; });
    if (python == conda.end())
      return fail(
          ErrorKind::conflict,
          place_of(spec_, spec_.pip.front()) + "the pip list needs a python, and the conda part has none",
          "add 'python' to the dependencies");
    options_.progress("resolving the pip list for " + platform);
    PipRequest request;
    set_common(request, platform, "uv");
    request.preferred = preferred(solved, Manager::pip);
    request.lines = spec_.pip;
    request.constraints = spec_.constraints;
    request.path = spec_.path;
    request.directory = directory_of(spec_.path);
    request.python = python->version;
    request.glibc = version_of(solved.virtual_packages, "__glibc");
    request.provided = provided_distributions(conda);
    auto answer = solve_pip(options_.programs, options_.environment, request);
    if (!answer) return tl::unexpected(answer.error());
    note_solver(lock, *answer);
    for (const auto& [name, source] : answer->sources) lock.custom[std::string(kSourceKey) + name] = source;
    std::move(answer->packages.begin(), answer->packages.end(), std::back_inserter(lock.packages));
    return {};
  }

  void set_common(SolveCommon& request, const std::string& platform, const std::string& cache) const {
    request.platform = platform;
    request.offline = options_.offline;
    request.cache = options_.cache + "/" + cache;
    request.time_limit = options_.time_limit;
    request.exclude_newer = cutoff_to_lock(options_, before_);
    request.access = access_;
  }

  const Spec& spec_;
  const LockOptions& options_;
  const Lock* before_;
  const Access access_;
};

std::set<std::string> lines_of(const std::string& canonical) {
  std::set<std::string> lines;
  for (const std::string_view line : split(canonical, '\n'))
    if (!line.empty()) lines.insert(percent_decode(line).value_or(std::string(line)));
  return lines;
}

// The lines of two canonical texts that the other does not have.
std::vector<std::string> line_changes(const std::string& before, const std::string& after) {
  std::vector<std::string> changes;
  const auto old_lines = lines_of(before);
  const auto new_lines = lines_of(after);
  for (const std::string& line : old_lines)
    if (!new_lines.contains(line)) changes.push_back("- " + line);
  for (const std::string& line : new_lines)
    if (!old_lines.contains(line)) changes.push_back("+ " + line);
  if (changes.empty() && before != after) changes.push_back("the order of channels or of pip's options");
  return changes;
}

// A setting of the lock that is asked to be another.
void add_setting_change(std::vector<std::string>& changes, const std::string& what, const std::string& before,
                        const std::string& after) {
  if (before == after) return;
  if (!before.empty()) changes.push_back("- " + what + " " + before);
  if (!after.empty()) changes.push_back("+ " + what + " " + after);
}

// Packages to update that the lock does not have: a slip that would change nothing, silently.
Result<void> check_names(const Update& update, const Lock* before) {
  std::vector<std::string_view> known;
  if (before != nullptr)
    for (const LockedPackage& package : before->packages) known.push_back(package.name);
  for (const std::string& name : update.names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const auto near = nearest(name, known);
    return fail(ErrorKind::usage, "'" + printable(name) + "' is not in the lock, so it cannot be updated",
                near ? "did you mean '" + std::string(*near) + "'?" : "");
  }
  return {};
}

// How the profile asked for differs from the one that a platform was solved with.
std::vector<std::string> profile_changes(const Lock& lock, const LockOptions& asked,
                                         const std::string& platform) {
  const auto before = recorded_profile(lock, platform).value_or(std::vector<VirtualPackage>{});
  const auto after = profile_to_lock(asked, platform, &lock);
  std::vector<std::string> changes;
  const auto tell = [&](const char* sign, const auto& these, const auto& others) {
    for (const VirtualPackage& package : these)
      if (std::find(others.begin(), others.end(), package) == others.end())
        changes.push_back(sign + to_string(package) + " (" + platform + ")");
  };
  tell("- ", before, after);
  tell("+ ", after, before);
  return changes;
}

}  // namespace

std::vector<std::string> platforms_to_lock(const std::vector<std::string>& asked, const Spec& spec,
                                           const Lock* before) {
  if (!asked.empty()) return asked;
  if (!spec.platforms.empty()) return spec.platforms;
  if (before != nullptr && !before->platforms.empty()) return before->platforms;
  return {native_platform()};
}

std::vector<VirtualPackage> profile_to_lock(const LockOptions& options, std::string_view platform,
                                            const Lock* before) {
  std::vector<VirtualPackage> profile = baseline_profile(platform);
  const auto recorded = before != nullptr ? recorded_profile(*before, platform) : std::nullopt;
  if (options.profile)
    profile = overlay(std::move(profile), options.profile->packages(platform));
  else if (recorded)
    profile = *recorded;
  else
    profile = overlay(std::move(profile), options.usual_profile.packages(platform));
  return overlay(std::move(profile), options.virtual_packages);
}

std::string priority_to_lock(const LockOptions& options, const Lock* before) {
  if (!options.channel_priority.empty()) return options.channel_priority;
  const std::string before_it = setting_of(before, kPriorityKey);
  return before_it.empty() ? options.usual_priority : before_it;
}

std::string cutoff_to_lock(const LockOptions& options, const Lock* before) {
  if (options.exclude_newer == kNoCutoff) return {};
  return options.exclude_newer.empty() ? setting_of(before, kCutoffKey) : options.exclude_newer;
}

Result<void> check_channel_priority(std::string_view priority) {
  for (const std::string_view known : {"strict", "flexible", "disabled"})
    if (priority == known) return {};
  return fail(ErrorKind::usage, "'" + printable(priority) + "' is no priority of channels",
              "it is strict, flexible or disabled");
}

Result<Lock> make_lock(const Spec& spec, const LockOptions& options, const Lock* before) {
  if (auto known = check_names(options.update, before); !known) return tl::unexpected(known.error());
  Lock lock;
  lock.sources = {file_name(spec.path)};
  lock.variables = spec.variables;
  lock.custom[std::string(kSpecKey)] = canonical_text(spec);
  for (const auto& [file, digest] : spec.inputs) lock.custom[std::string(kInputKey) + file] = digest;
  const Solving solving(spec, options, before);
  for (const std::string& platform : platforms_to_lock(options.platforms, spec, before))
    if (const auto done = solving.add_platform(lock, platform); !done) return tl::unexpected(done.error());
  return lock;
}

std::string content_hash(const Spec& spec) { return sha256_hex(canonical_text(spec)); }

Result<LockCheck> check_lock(const Spec& spec, const std::string& path, const LockOptions& asked) {
  LockCheck check;
  if (::access(path.c_str(), F_OK) != 0 && errno == ENOENT) return check;
  auto file = read_file(path, kLockSizeLimit, Links::followed);
  if (!file) return tl::unexpected(file.error());
  auto lock = parse_lock(file->text, path);
  if (!lock) return tl::unexpected(lock.error());
  check.text = std::move(file->text);
  const auto recorded = lock->custom.find(std::string(kSpecKey));
  check.ours = recorded != lock->custom.end();
  if (!check.ours) check.changes.push_back("pinstep has not made this lock: whether it fits is not known");
  bool same_spec = true;
  for (const std::string& platform : platforms_to_lock(asked.platforms, spec, &*lock)) {
    if (!check.ours) break;
    const auto hash = lock->content_hash.find(platform);
    if (hash == lock->content_hash.end()) {
      check.changes.push_back("+ platform " + platform);
      continue;
    }
    same_spec = same_spec && hash->second == content_hash(spec);
    const auto differences = profile_changes(*lock, asked, platform);
    check.changes.insert(check.changes.end(), differences.begin(), differences.end());
  }
  if (!same_spec) {
    const auto differences = line_changes(recorded->second, canonical_text(spec));
    check.changes.insert(check.changes.end(), differences.begin(), differences.end());
  }
  if (check.ours) {
    if (!asked.channel_priority.empty())
      add_setting_change(check.changes, "channel priority", setting_of(&*lock, kPriorityKey),
                         priority_to_lock(asked, &*lock));
    add_setting_change(check.changes, "exclude newer", setting_of(&*lock, kCutoffKey),
                       cutoff_to_lock(asked, &*lock));
  }
  check.state = check.changes.empty() ? LockState::fits : LockState::changed;
  check.lock = std::move(*lock);
  return check;
}

Result<void> save_lock(const Lock& lock, const std::string& path) {
  return replace_file(path, write_lock(lock));
}

}  // namespace pinstep
