// An environment is a value, an activation is a list of edits on it. Both are computed, printed and
// compared without touching a process; only a program's edge reads or replaces the real thing
// (base/process.h).
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "envtools/base/error.h"

namespace pinstep {

// A set of NAME=value. Any name without '=' and NUL is kept, exported shell functions
// (`BASH_FUNC_module%%`) included. Of two entries with one name the first counts, as for getenv(3);
// strings without '=' are not variables and are dropped.
class Environment {
 public:
  using Variables = std::map<std::string, std::string, std::less<>>;

  Environment() = default;
  explicit Environment(Variables variables) : variables_(std::move(variables)) {}

  // From a NULL-terminated array such as environ(7); nullptr counts as empty.
  static Environment from(const char* const* entries);

  // The value, nothing where the variable is not set. A set but empty variable gives "".
  std::optional<std::string_view> get(std::string_view name) const;
  bool has(std::string_view name) const { return variables_.find(name) != variables_.end(); }
  void set(std::string_view name, std::string_view value);
  void unset(std::string_view name);

  Variables::const_iterator begin() const { return variables_.begin(); }
  Variables::const_iterator end() const { return variables_.end(); }
  bool operator==(const Environment&) const = default;

  // "NAME=value" strings, sorted by name: what execve(2) takes.
  std::vector<std::string> entries() const;

 private:
  Variables variables_;
};

enum class EditOp {
  set,      // NAME=value
  unset,    // the variable is gone
  prepend,  // value becomes the first element of the ':' list NAME
  append,   // value becomes the last element unless it is in the list already
  remove,   // every element equal to value leaves the list; a list that becomes empty is unset
};

std::string_view to_string(EditOp op);
std::optional<EditOp> parse_edit_op(std::string_view name);

// One change. The text is a view: it belongs to whoever made the edit (the activation file's buffer,
// one of the two environments of a diff) and must outlive it.
struct Edit {
  EditOp op;
  std::string_view name;
  std::string_view value;  // empty for unset

  bool operator==(const Edit&) const = default;
};

// What prepend does with an element that is in the list already.
enum class Prepend {
  moves_to_front,   // an environment that is entered: ours comes first
  keeps_its_place,  // one that was entered before: the order is the user's since
};

void apply(Environment& environment, const Edit& edit, Prepend prepend = Prepend::moves_to_front);

// The set and unset edits that turn `before` into `after`, sorted by name. Views into both.
std::vector<Edit> diff(const Environment& before, const Environment& after);

// Elements of a ':' list; an unset or empty variable has none.
std::vector<std::string_view> list_elements(std::string_view list);

// The text with a leading `~/`, and $NAME and ${NAME} anywhere, replaced by what the variables say.
// Errors: invalid (a variable that is not set or empty, a '$' without a name).
Result<std::string> expand_variables(std::string_view text, const Environment& environment);

}  // namespace pinstep
