// The site's word on this node: whether pinstep is switched off, and its settings.
#pragma once

#include "plugin/state.h"

namespace pinstep {

// One stat of /etc/pinstep/disable, one read of /etc/pinstep/pinstep.conf; both may be absent. Never fails:
// what is wrong in the file is in state.site.errors.
void load_site(State& state);

}  // namespace pinstep
