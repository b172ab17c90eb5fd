#include "envtools/cli/locking.h"

#include <cstdio>

#include "envtools/cli/env.h"
#include "envtools/profile/places.h"
#include "envtools/solver/setup.h"

namespace pinstep::cli {
namespace {

Result<std::string> cache_directory(const Environment& environment) {
  if (const auto cache = environment.get("XDG_CACHE_HOME"); cache && cache->starts_with('/'))
    return std::string(*cache) + "/pinstep";
  const auto home = environment.get("HOME");
  if (!home || !home->starts_with('/'))
    return fail(ErrorKind::not_found, "there is no home directory to keep the channels' indexes in",
                "set HOME or XDG_CACHE_HOME");
  return std::string(*home) + "/.cache/pinstep";
}

}  // namespace

Result<Profile> profile_of_word(const World& world, const std::string& word) {
  return load_profile(is_profile_name(word) ? word : absolute(word, world.directory),
                      profile_directories(world.environment));
}

Result<Profile> usual_profile(const World& world, const Settings& settings) {
  if (settings.profile.empty()) return Profile{};
  const auto word = expand_variables(settings.profile, world.environment);
  if (!word) return tl::unexpected(word.error());
  return profile_of_word(world, *word);
}

Result<LockOptions> lock_options(const World& world, const Settings& settings, Progress& progress) {
  LockOptions options;
  options.environment = world.environment;
  options.progress = [&progress](const std::string& text) { progress.show(text); };
  auto channels = load_channel_config(world.environment, settings.channels);
  if (!channels) return tl::unexpected(channels.error());
  options.channels = std::move(*channels);
  options.usual_priority = options.channels.priority;
  auto cache = cache_directory(world.environment);
  if (!cache) return tl::unexpected(cache.error());
  options.cache = std::move(*cache);
  auto profile = usual_profile(world, settings);
  if (!profile) return tl::unexpected(profile.error());
  options.usual_profile = std::move(*profile);
  return options;
}

Result<void> add_solver(LockOptions& options, const Settings& settings, Progress& progress) {
  const auto configured = expand_variables(settings.solver, options.environment);
  if (!configured) return tl::unexpected(configured.error());
  const SolverPlaces places{*configured, private_file("solver")};
  auto programs = find_solver_programs(options.environment, places);
  const bool may_set_up = programs || (settings.setup == Settings::Setup::automatic && progress.on_terminal() &&
                                       programs.error().kind == ErrorKind::not_found);
  if (!programs && !may_set_up) return tl::unexpected(programs.error());
  if (!programs) {
    SetupRequest request;
    const auto directory = default_solver_directory(options.environment);
    if (!directory) return tl::unexpected(directory.error());
    request.directory = *directory;
    request.requirements = places.scripts + "/requirements.txt";
    request.progress = options.progress;
    std::fprintf(stderr,
                 "pinstep: installing the solver, py-rattler and uv, in %s (once; setup=never forbids it)\n",
                 directory->c_str());
    const auto done = set_up_solver(options.environment, request);
    progress.clear();
    if (!done) return tl::unexpected(done.error());
    programs = SolverPrograms{done->python, places.scripts};
  }
  options.programs = std::move(*programs);
  return {};
}

Result<void> add_profile(LockOptions& options, const World& world, const Parsed& parsed) {
  for (const std::string& text : parsed.all("virtual-package")) {
    const auto package = parse_virtual_package(text);
    if (!package) return tl::unexpected(package.error());
    options.virtual_packages.push_back(*package);
  }
  const auto word = parsed.last("profile");
  if (!word) return {};
  auto profile = profile_of_word(world, *word);
  if (!profile) return tl::unexpected(profile.error());
  options.profile = std::move(*profile);
  return {};
}

Result<std::string> spec_path(const World& world, const std::optional<std::string>& typed) {
  if (typed) return absolute(*typed, world.directory);
  const auto found = find_env_upward(world.directory);
  if (!found) return tl::unexpected(found.error());
  return found->path;
}

Result<std::string> spec_operand(const World& world, const Parsed& parsed) {
  if (parsed.operands.size() > 1) return fail(ErrorKind::usage, "one spec at a time", "see --help");
  return spec_path(world, parsed.operands.empty() ? std::nullopt : std::optional(parsed.operands[0]));
}

}  // namespace pinstep::cli
