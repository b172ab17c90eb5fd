#include "plugin/options.h"

namespace pinstep {

std::string environment_form(std::string_view option) {
  std::string name = "SLURM_SPANK__SLURM_SPANK_OPTION_";
  name.append(kPluginName).append("_");
  for (const char c : option) name += c == '-' ? '_' : c;
  return name;
}

void OptionUse::called(std::string_view value) {
  if (is_submitted_) {
    if (value_ != value) other_component_ = value;
    return;
  }
  ++calls_;
  value_ = value;
}

bool OptionUse::is_typed(const Environment& environment, std::string_view option) const {
  const int inherited_calls = environment.has(environment_form(option)) ? 1 : 0;
  return calls_ > inherited_calls;
}

}  // namespace pinstep
