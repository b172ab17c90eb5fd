// Prints the tables that the documentation has too, one row a line, fields separated by tabs, for tests/docs.
#include <cstdio>

#include "envtools/base/variables.h"
#include "envtools/config/settings.h"
#include "envtools/pin/pin.h"
#include "launcher/prepare/prepare.h"
#include "launcher/rendezvous/rendezvous.h"

namespace {

void row(std::initializer_list<std::string_view> fields) {
  const char* separator = "";
  for (const std::string_view field : fields) {
    std::printf("%s%.*s", separator, static_cast<int>(field.size()), field.data());
    separator = "\t";
  }
  std::printf("\n");
}

}  // namespace

int main() {
  using namespace pinstep;
  for (const Key& key : settings_keys())
    row({"setting", key.name, key.set_by == SetBy::site ? "site" : "anyone", key.values, key.fallback,
         key.meaning});
  for (const variable::Description& described : variable::kAll)
    row({"variable", described.name, described.set_by, described.meaning});
  for (const Shape shape : {Shape::automatic, Shape::rank, Shape::torchrun, Shape::spawn, Shape::none})
    row({"shape", to_string(shape)});
  row({"ports", std::to_string(kDerivedPortLow), std::to_string(kDerivedPortLow + kDerivedPortCount - 1)});
  row({"failure", std::to_string(kOwnFailure)});
}
