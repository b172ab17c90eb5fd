// Whatever a project or a requirements file says, the spec made of it can be written, and is refused only with
// a line.
#include "envtools/init/new_spec.h"

#include "envtools/spec/spec.h"
#include "tests/fuzz/check.h"

using namespace pinstep;

namespace {

void check(const NewSpec& spec) {
  const auto read = parse_spec(format_new_spec(spec), "/d/f");
  if (!read) CHECK(read.error().cause.starts_with("/d/f:"));
  if (read) CHECK(read->variables.size() == spec.variables.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::as_text(data, size);
  check(from_requirements(text, "/d/f"));
  const auto project = from_project(text, "/d/f");
  if (project)
    check(*project);
  else
    CHECK(project.error().kind == ErrorKind::invalid && project.error().cause.starts_with("/d/f:"));
  return 0;
}
