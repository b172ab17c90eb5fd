// ENV: the one way to name an environment, in every verb and option. Tried in this order: `none`; a path
// (anything with a '/', or ending in .yml, .yaml, .lock, .txt or .toml), of a pixi.lock also `pixi.lock:NAME`;
// a tag; 4 to 64 digits of an id.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "envtools/activation/activation.h"
#include "envtools/base/error.h"
#include "envtools/store/store.h"

namespace pinstep::cli {

struct NamedEnv {
  enum class Kind {
    none,
    spec,    // path: the spec's file
    lock,    // path: the lock's file
    prefix,  // path: a directory, of a store or not
    id,      // published: what a tag or an id names
  };

  Kind kind = Kind::none;
  std::string path;  // absolute; of an id: the prefix
  std::string part;  // of a pixi.lock: which environment, see parse_lock(); empty: the usual one
  std::optional<Published> published;
};

// What a user typed. `directory` is what relative paths start from. Errors: invalid (neither a path, tag nor
// id; an id that is not unique), not_found, and those of reading the file.
Result<NamedEnv> find_env(const std::string& text, const std::string& directory,
                          const std::vector<Store>& stores, const Trust& trust);

// Whether the text can be a tag: [a-z][a-z0-9._-]{0,63}, and nothing that means something else as ENV.
bool is_tag(std::string_view text);

// Without ENV: environment.yml or environment.yaml in the directory or the nearest above it. Errors: not_found.
Result<NamedEnv> find_env_upward(const std::string& directory);

}  // namespace pinstep::cli
