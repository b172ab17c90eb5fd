// Expanding a list up to a limit gives the beginning of what a higher limit gives; no name is empty or
// holds a bracket or comma; each name by itself is a list again.
#include <algorithm>

#include "launcher/step/nodelist.h"
#include "tests/fuzz/check.h"

using namespace pinstep;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kLimit = 200;
  const std::string_view list = fuzz::as_text(data, size);
  const auto names = expand_node_list(list, kLimit);
  const auto first = expand_node_list(list, 1);
  CHECK(names.has_value() == first.has_value());
  if (!names) {
    CHECK(names.error().kind == ErrorKind::invalid);
    return 0;
  }
  CHECK(!names->empty() && names->size() <= kLimit);
  CHECK(first->size() == 1 && first->front() == names->front());
  for (const std::string& name : *names) {
    CHECK(!name.empty() && name.find_first_of("[], \t\n") == std::string::npos);
    CHECK(expand_node_list(name, kLimit) == std::vector<std::string>{name});
  }
  return 0;
}
