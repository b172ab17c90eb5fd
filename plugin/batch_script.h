// What a batch script's first line means for its PATH.
#pragma once

#include <string>
#include <string_view>

namespace pinstep {

// Whether an interpreter line starts a login shell: "#!/bin/bash -l". A login shell runs /etc/profile, which
// sets PATH anew in most distributions.
bool starts_login_shell(std::string_view script);

// Whether the script at `path` does, and does not call `pinstep activate` to mend it: the steps are right all
// the same, the script's own commands are not, and nothing but the script can help that.
bool needs_activate_line(const std::string& path);

}  // namespace pinstep
