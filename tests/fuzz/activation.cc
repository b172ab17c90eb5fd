// An activation that is accepted is the same after it was written again, byte for byte, and every edit of
// it leaves an environment that can be given to a program.
#include "envtools/activation/activation.h"

#include "tests/fuzz/check.h"

using namespace pinstep;

namespace {

bool can_be_passed_on(const Environment& environment) {
  for (const auto& [name, value] : environment)
    if (name.empty() || name.find_first_of(std::string_view("=\0", 2)) != std::string::npos ||
        value.find('\0') != std::string::npos)
      return false;
  return true;
}

bool is_list_edit(const Edit& edit) { return edit.op != EditOp::set && edit.op != EditOp::unset; }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string content(fuzz::as_text(data, size));
  const auto activation = Activation::parse(content, "/f");
  if (!activation) {
    CHECK(activation.error().kind == ErrorKind::corrupt || activation.error().kind == ErrorKind::unsupported);
    CHECK(activation.error().cause.starts_with("'/f'"));
    return 0;
  }
  CHECK(activation->id() == "-" || activation->id().size() == 64);
  CHECK(format_activation(activation->id(), activation->edits()) == content);

  Environment environment({{"PATH", "/usr/bin:/bin"}, {"A", "1"}});
  for (const Edit& edit : activation->edits()) {
    apply(environment, edit);
    CHECK(can_be_passed_on(environment));
    CHECK(!is_list_edit(edit) || (!edit.value.empty() && edit.value.find(':') == std::string_view::npos));
  }
  return 0;
}
