#include "launcher/verify/options.h"

#include "envtools/base/text.h"

namespace pinstep::verify {

Result<Options> parse_options(const std::vector<std::string>& arguments) {
  constexpr unsigned most_seconds = 24 * 3600;
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto halves = split_once(arguments[i], '=');
    const std::string_view name = halves ? halves->before : arguments[i];
    std::string value(halves ? halves->after : "");
    if (name == "--json" && !halves) {
      options.json = true;
    } else if (name == "--timeout") {
      if (!halves && i + 1 < arguments.size()) value = arguments[++i];
      const auto seconds = parse_number<unsigned>(value);
      if (!seconds || *seconds == 0 || *seconds > most_seconds)
        return fail(ErrorKind::usage, "option '--timeout' needs a number of seconds");
      options.timeout = std::chrono::seconds(*seconds);
    } else if (halves && name == "--map") {
      options.map = value;
    } else if (halves && name == "--gpus") {
      options.gpus = value;
    } else if (halves && name == "--nics") {
      options.nics = value;
    } else if (halves && name == "--uuid") {
      options.uuids.push_back(value);
    } else {
      return fail(ErrorKind::usage, "verify takes no '" + arguments[i] + "'", "pinstep-launch --help");
    }
  }
  return options;
}

}  // namespace pinstep::verify
