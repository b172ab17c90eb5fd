// Where the files of a wheel lie in a prefix.
#pragma once

#include <vector>

#include "envtools/plan/plan.h"

namespace pinstep {

// By the rules of PEP 427: the archive's root and .data/purelib, platlib to site-packages, .data/scripts to
// bin, .data/headers to include/site/pythonX.Y/NAME, .data/data to the prefix; entry points; and the records
// RECORD and INSTALLER. RECORD has no digest for scripts: they hold the prefix, and it must not.
// Errors: refused (an unknown directory in .data).
Result<std::vector<PlannedFile>> lay_out_wheel(const WheelSource& source, const PlannedPython& python,
                                               const std::string& prefix);

}  // namespace pinstep
