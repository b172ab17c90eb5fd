// Reading the places that settings come from.
#pragma once

#include <string>
#include <vector>

#include "envtools/base/environment.h"
#include "envtools/base/error.h"
#include "envtools/config/settings.h"

namespace pinstep {

// /etc/pinstep/pinstep.conf and the plugstack.conf arguments. Never fails, like site_settings().
SiteSettings load_site_settings(const std::vector<std::string>& plugstack_arguments);

// Those, and the user's file and PINSTEP_* variables: what holds at submission. Errors: invalid, from the
// user's own places, and those of read_file(); what is wrong in the site's is the site's to mend.
Result<SiteSettings> load_user_settings(const Environment& environment,
                                        const std::vector<std::string>& plugstack_arguments);

}  // namespace pinstep
