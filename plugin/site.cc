#include "plugin/site.h"

#include <unistd.h>

#include "envtools/config/files.h"

namespace pinstep {

void load_site(State& state) {
  state.switched_off = ::access(kDisableFile, F_OK) == 0;
  if (state.switched_off) return;
  state.site = load_site_settings(state.arguments);
}

}  // namespace pinstep
