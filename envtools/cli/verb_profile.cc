// pinstep profile: what nodes offer, as virtual packages to lock for.
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>

#include "envtools/base/fd.h"
#include "envtools/base/text.h"
#include "envtools/cli/cli.h"
#include "envtools/cli/environments.h"
#include "envtools/cli/locking.h"
#include "envtools/config/files.h"
#include "envtools/json/json.h"
#include "envtools/profile/node.h"
#include "envtools/profile/places.h"

namespace pinstep::cli {
namespace {

// clang-format off
constexpr std::string_view kProfileUsage =
    R"(usage: pinstep profile list [--json]
       pinstep profile show [--platform=P] [--json] [PROFILE]
       pinstep profile detect [--output=FILE] [--json]
       pinstep profile check [--json] [ENV]

Profiles say what the nodes of a partition offer: the driver's CUDA, the C library, the
kernel, the processor. 'pinstep lock' takes one by its name and solves for such nodes,
wherever it runs.

  list      the profiles in ~/.config/pinstep/profiles.d and /etc/pinstep/profiles.d
  show      what would be solved for with PROFILE, a name or a file; without it with the
            setting 'profile', or the baseline
  detect    print a profile of the node this runs on: srun -p gpu pinstep profile detect
  check     whether this node has what the packages of an environment ask for

  --platform=P  of this platform only
  -o FILE, --output=FILE  write it there
  --json        print an object

Exit status: 0 done, 1 it cannot be, or this node will not do, 2 wrong usage.
)";
// clang-format on

Json json_of(const Profile& profile) {
  Json json;
  json["name"] = profile.name;
  json["platforms"] = Json::object();
  for (const auto& [platform, packages] : profile.platforms) {
    Json& list = json["platforms"][platform] = Json::array();
    for (const VirtualPackage& package : packages) list.push_back(to_string(package));
  }
  return json;
}

void print_profile(const Profile& profile, std::string_view comment, bool json) {
  const std::string text = json ? dump_json(json_of(profile)) + "\n" : write_profile(profile, comment);
  std::fwrite(text.data(), 1, text.size(), stdout);
}

// ---- list

Result<int> list(const World& world, const Parsed& parsed) {
  const auto profiles = list_profiles(profile_directories(world.environment));
  if (parsed.has("json")) {
    Json json = Json::array();
    for (const NamedProfile& profile : profiles)
      json.push_back({{"name", profile.name}, {"path", profile.path}});
    std::printf("%s\n", dump_json(json).c_str());
    return kOk;
  }
  for (const NamedProfile& profile : profiles)
    std::printf("%-16s %s\n", profile.name.c_str(), printable(profile.path).c_str());
  if (profiles.empty())
    std::fprintf(stderr, "pinstep: no profiles; 'pinstep profile detect', run on a node, makes one\n");
  return kOk;
}

// ---- show

// The profile with the baseline below it, for its platforms or those asked for.
Profile completed(const Profile& profile, std::vector<std::string> platforms) {
  if (platforms.empty())
    for (const auto& [platform, packages] : profile.platforms) platforms.push_back(platform);
  if (platforms.empty()) platforms.push_back(native_platform());
  Profile whole;
  whole.name = profile.name;
  for (const std::string& platform : platforms)
    whole.platforms[platform] = overlay(baseline_profile(platform), profile.packages(platform));
  return whole;
}

Result<int> show(const World& world, const Parsed& parsed) {
  const auto platforms = parsed.all("platform");
  for (const std::string& platform : platforms)
    if (const auto known = check_platform(platform); !known)
      return fail(ErrorKind::usage, "--platform: " + known.error().cause, known.error().hint);
  Result<Profile> profile = Profile{};
  if (parsed.operands.size() > 1) {
    profile = profile_of_word(world, parsed.operands[1]);
  } else {
    const auto settings = load_user_settings(world.environment, {});
    if (!settings) return tl::unexpected(settings.error());
    profile = usual_profile(world, settings->settings);
  }
  if (!profile) return tl::unexpected(profile.error());
  print_profile(completed(*profile, platforms), "", parsed.has("json"));
  return kOk;
}

// ---- detect

Result<void> save(const Profile& profile, const std::string& comment, const std::string& path) {
  std::error_code error;  // where it matters writing the file fails
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  return replace_file(path, write_profile(profile, comment));
}

Result<int> detect(const World& world, const Parsed& parsed) {
  const auto node = read_node();
  if (!node) return tl::unexpected(node.error());
  const Profile profile = profile_of(*node);
  const std::string comment = "found on " + node->host + " by pinstep profile detect";
  const auto output = parsed.last("output");
  if (!output) {
    print_profile(profile, comment, parsed.has("json"));
    return kOk;
  }
  const std::string path = absolute(*output, world.directory);
  if (auto saved = save(profile, comment, path); !saved) return tl::unexpected(saved.error());
  if (parsed.has("json"))
    print_profile(profile, comment, true);
  else
    std::printf("%s: %s\n", path.c_str(), format_profile(profile.platforms.begin()->second).c_str());
  return kOk;
}

// ---- check

Error will_not_do(const std::string& host, const std::vector<std::string>& clauses) {
  std::string list;
  for (const std::string& clause : clauses) list += (list.empty() ? "" : "; ") + clause;
  return {ErrorKind::conflict, "node '" + host + "' will not do: " + list,
          "choose other nodes, or lock for these: 'pinstep profile detect' here says what to lock for"};
}

Result<int> check(const World& world, const Parsed& parsed) {
  const auto place = load_place(world, "");
  if (!place) return tl::unexpected(place.error());
  const auto env =
      env_of(world, *place, parsed.operands.size() > 1 ? std::optional(parsed.operands[1]) : std::nullopt);
  if (!env) return tl::unexpected(env.error());
  const auto lock = lock_of(world, *place, *env);
  if (!lock) return tl::unexpected(lock.error());
  const auto node = read_node();
  if (!node) return tl::unexpected(node.error());
  const auto [platform, offered] = *profile_of(*node).platforms.begin();
  const auto packages = lock->packages_for(platform);
  if (!packages) return tl::unexpected(packages.error());
  const auto clauses = shortcomings(*packages, offered);
  if (!clauses.empty()) return tl::unexpected(will_not_do(node->host, clauses));
  if (parsed.has("json"))
    std::printf("%s\n", dump_json({{"node", node->host}, {"state", "fits"}}).c_str());
  else
    std::printf("node '%s' has what the packages ask for\n", node->host.c_str());
  return kOk;
}

using Act = Result<int> (*)(const World&, const Parsed&);
constexpr std::array<std::pair<std::string_view, Act>, 4> kActs{
    {{"list", list}, {"show", show}, {"detect", detect}, {"check", check}}};

int run_profile(const World& world, const Arguments& arguments) {
  const auto parsed = parse(arguments, {{"platform", true}, {"output", true, 'o'}, {"json", false}});
  if (!parsed) return report(parsed.error(), wants_json(arguments));
  const bool json = parsed->has("json");
  const std::string word = parsed->operands.empty() ? "" : parsed->operands[0];
  const auto found =
      std::find_if(kActs.begin(), kActs.end(), [&](const auto& act) { return act.first == word; });
  const Act act = found == kActs.end() ? nullptr : found->second;
  if (act == nullptr)
    return report({ErrorKind::usage, "profile needs one of list, show, detect and check",
                   "'pinstep profile --help' tells more"},
                  json);
  if (parsed->operands.size() > 2 || (parsed->operands.size() > 1 && (act == list || act == detect)))
    return report({ErrorKind::usage, "'" + printable(parsed->operands.back()) + "' is a word too many", ""},
                  json);
  const auto code = act(world, *parsed);
  return code ? *code : report(code.error(), json);
}

}  // namespace

const Verb kProfile{"profile", "say what nodes offer, to lock for them", kProfileUsage, run_profile};

}  // namespace pinstep::cli
