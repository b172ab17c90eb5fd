#include "plugin/site.h"

#include <unistd.h>

#include "envtools/base/fd.h"

namespace pinstep {

void load_site(State& state) {
  state.switched_off = ::access(kDisableFile, F_OK) == 0;
  if (state.switched_off) return;
  ParsedFile parsed;
  const auto file = read_file(kSiteFile, kSettingsFileLimit);
  if (file)
    parsed = parse_settings_file(file->text, kSiteFile);
  else if (file.error().kind != ErrorKind::not_found)
    parsed.errors.push_back(file.error());
  state.site = site_settings(parsed, state.arguments);
}

}  // namespace pinstep
