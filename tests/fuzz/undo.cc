// Leaving with any PINSTEP_STEP_UNDO, which is the user's to write, leaves an environment that can be given
// to a program, without what a step tells; leaving again changes nothing. And what was entered with any
// activation can be left: what is not a list or a policy's business is as before.
// Input: the record, a zero byte, an activation file.
#include <algorithm>

#include "envtools/activation/enter.h"
#include "envtools/base/variables.h"
#include "tests/fuzz/check.h"

using namespace pinstep;

namespace {

constexpr Policies kHandsOff{Policies::UserSite::keep, Policies::PythonPath::keep, Policies::ClearOrKeep::keep,
                             Policies::ClearOrKeep::keep};

const Environment& outside() {
  static const Environment environment({{"PATH", "/usr/bin::/bin"}, {"A", "1"}, {"B", ""}, {"L", "a:b:a"}});
  return environment;
}

bool is_of_a_step(std::string_view name) { return name.starts_with(variable::kStepPrefixOfNames); }

void check_left(const Environment& environment) {
  for (const auto& [name, value] : environment) {
    CHECK(!name.empty() && name.find_first_of(std::string_view("=\0", 2)) == std::string::npos);
    CHECK(value.find('\0') == std::string::npos);
    CHECK(!is_of_a_step(name));
  }
  CHECK(leave(environment) == environment);
}

void check_round_trip(const Activation& activation) {
  const Environment inside = enter(outside(), {activation, "/p", kHandsOff, Arrival::inside, ""});
  const Environment left = leave(inside);
  check_left(left);
  for (const Edit& edit : activation.edits()) {
    const bool is_whole = edit.op == EditOp::set || edit.op == EditOp::unset;
    if (is_whole && !is_of_a_step(edit.name)) CHECK(left.get(edit.name) == outside().get(edit.name));
  }
  for (const auto& [name, value] : outside()) {
    const auto edits_it = [&, &name = name](const Edit& edit) { return edit.name == name; };
    if (std::none_of(activation.edits().begin(), activation.edits().end(), edits_it))
      CHECK(left.get(name) == value);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input = fuzz::as_text(data, size);
  Environment hostile = outside();
  hostile.set(variable::kStepUndo, fuzz::take_text(input));
  hostile.set(variable::kStepPrefix, "/p");
  check_left(leave(hostile));

  if (const auto activation = Activation::parse(std::string(input), "/f")) check_round_trip(*activation);
  return 0;
}
