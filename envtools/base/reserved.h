// Variables that an environment may not set: they belong to the job, the step or the user. Specs and locks that
// do are refused; what packages do to them is left out of the activation.
#pragma once

#include <optional>
#include <string_view>

namespace pinstep {

// A letter or '_', then letters, digits and '_' of ASCII: what shells take, too.
bool is_variable_name(std::string_view name);

// Why, as the end of a sentence: "'RANK' cannot be set here: " and "each process of a step has its own".
// Nothing for a variable that may be set.
std::optional<std::string_view> reserved_because(std::string_view name);

// What changes every program that is started, and so gets a note: LD_PRELOAD and the like.
bool affects_every_program(std::string_view name);

}  // namespace pinstep
