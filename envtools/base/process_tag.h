// Names of temporary files tell who made them, so that those of a killed process can be cleared away.
#pragma once

#include <string>
#include <string_view>

namespace pinstep {

// "<16 hex digits>-<pid>": the digits stand for this boot of this machine and the process's PID namespace,
// within which the number means something.
std::string process_tag();

// Whether the process that a tag names is certainly gone. False for one of another machine or namespace,
// of which nothing can be known from here, and for text that is no tag.
bool is_gone(std::string_view tag);

}  // namespace pinstep
