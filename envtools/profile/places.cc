#include "envtools/profile/places.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "envtools/base/fd.h"
#include "envtools/base/text.h"

namespace pinstep {
namespace {

constexpr std::string_view kEnding = ".yml";

tl::unexpected<Error> no_such_profile(const std::string& name, const std::vector<std::string>& directories) {
  const auto profiles = list_profiles(directories);
  std::vector<std::string_view> names;
  std::string known;
  for (const NamedProfile& profile : profiles) {
    names.push_back(profile.name);
    known += (known.empty() ? "" : ", ") + profile.name;
  }
  std::string hint = "there are " + known;
  if (profiles.empty()) {
    hint = "'pinstep profile detect', run on a node, makes one; a file is './" + printable(name) + "'";
  } else if (const auto near = nearest(name, names)) {
    hint = "did you mean '" + std::string(*near) + "'?";
  }
  return fail(ErrorKind::not_found, "there is no profile '" + printable(name) + "'", hint);
}

Result<Profile> read_profile(const std::string& path) {
  const auto file = read_file(path, kProfileSizeLimit, Links::followed);
  if (!file) return tl::unexpected(file.error());
  return parse_profile(file->text, path);
}

}  // namespace

std::vector<std::string> profile_directories(const Environment& environment) {
  std::vector<std::string> directories;
  const std::string own(environment.get("XDG_CONFIG_HOME").value_or(""));
  const std::string home(environment.get("HOME").value_or(""));
  if (own.starts_with('/'))
    directories.push_back(own + "/pinstep/profiles.d");
  else if (home.starts_with('/'))
    directories.push_back(home + "/.config/pinstep/profiles.d");
  directories.emplace_back(kSiteProfiles);
  return directories;
}

bool is_profile_name(std::string_view text) {
  const auto of_a_name = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
  };
  return !text.empty() && std::isalnum(static_cast<unsigned char>(text[0])) != 0 &&
         std::all_of(text.begin(), text.end(), of_a_name) && !text.ends_with(".yml") &&
         !text.ends_with(".yaml");
}

std::vector<NamedProfile> list_profiles(const std::vector<std::string>& directories) {
  std::vector<NamedProfile> profiles;
  for (const std::string& directory : directories) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
      const std::string file = entry.path().filename().string();
      if (!file.ends_with(kEnding)) continue;
      const std::string name = file.substr(0, file.size() - kEnding.size());
      const auto same = [&](const NamedProfile& other) { return other.name == name; };
      if (is_profile_name(name) && std::none_of(profiles.begin(), profiles.end(), same))
        profiles.push_back({name, entry.path().string()});
    }
  }
  std::sort(profiles.begin(), profiles.end(),
            [](const NamedProfile& a, const NamedProfile& b) { return a.name < b.name; });
  return profiles;
}

Result<Profile> load_profile(const std::string& name_or_path, const std::vector<std::string>& directories) {
  if (!is_profile_name(name_or_path)) return read_profile(name_or_path);
  for (const std::string& directory : directories) {
    auto profile = read_profile(directory + "/" + name_or_path + std::string(kEnding));
    if (!profile && profile.error().kind == ErrorKind::not_found) continue;
    if (profile) profile->name = name_or_path;
    return profile;
  }
  return no_such_profile(name_or_path, directories);
}

}  // namespace pinstep
