#include "envtools/config/files.h"

#include "envtools/base/fd.h"

namespace pinstep {
namespace {

// An absent file is no error. Links are followed: dotfiles are often kept elsewhere.
Result<ParsedFile> load_file(const std::string& path) {
  const auto file = read_file(path, kSettingsFileLimit, Links::followed);
  if (file) return parse_settings_file(file->text, path);
  if (file.error().kind == ErrorKind::not_found) return ParsedFile{};
  return tl::unexpected(file.error());
}

std::string user_file(const Environment& environment) {
  std::string directory(environment.get("XDG_CONFIG_HOME").value_or(""));
  if (directory.empty()) directory = std::string(environment.get("HOME").value_or("")) + "/.config";
  return directory + "/pinstep/config";
}

}  // namespace

SiteSettings load_site_settings(const std::vector<std::string>& plugstack_arguments) {
  auto file = load_file(kSiteFile);
  if (!file) file = ParsedFile{{}, {file.error()}};
  return site_settings(*file, plugstack_arguments);
}

Result<SiteSettings> load_user_settings(const Environment& environment,
                                        const std::vector<std::string>& plugstack_arguments) {
  SiteSettings site = load_site_settings(plugstack_arguments);
  const auto own = load_file(user_file(environment));
  if (!own) return tl::unexpected(own.error());
  if (!own->errors.empty()) return tl::unexpected(own->errors.front());
  for (const auto& assignments : {own->assignments, assignments_from(environment)})
    for (const Assignment& assignment : assignments)
      if (const auto done = assign(site.settings, assignment, SetBy::anyone); !done)
        return tl::unexpected(done.error());
  for (const Assignment& enforced : site.enforced) (void)assign(site.settings, enforced, SetBy::site);
  return site;
}

}  // namespace pinstep
