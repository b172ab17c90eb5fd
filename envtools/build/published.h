// What a build finds under the name of its environment.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "envtools/base/error.h"
#include "envtools/store/store.h"

namespace pinstep {

// The first published prefix that a step could run in: one whose id or activation cannot be read counts as
// absent. Errors: conflict (another id with the same first digits), unsupported (a newer pinstep's), os.
Result<std::optional<Published>> find_usable(const std::vector<Store>& stores, std::string_view id,
                                             const Trust& trust);

// After find_usable() has found nothing: the first store that can be written to and where the name is free, or
// taken by a prefix of our own, which is damaged then. Errors: refused, those of prepare_store().
Result<Store> store_to_build_in(const std::vector<Store>& stores, std::string_view id);

// Takes what has the prefix's name out of the way: to e/.broken-<id16>-<token>, since jobs may still be running
// in it. Gives that path, nothing where the name is free. Errors: refused, os.
Result<std::optional<std::string>> move_broken_aside(const Store& store, std::string_view id);

}  // namespace pinstep
