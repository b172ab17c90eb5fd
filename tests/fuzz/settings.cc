// A settings file gives at most one assignment or error for each line, and a site's settings are never
// outside what each key allows, whatever its files say.
#include "envtools/config/settings.h"

#include <algorithm>

#include "tests/fuzz/check.h"

using namespace pinstep;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input = fuzz::as_text(data, size);
  const std::string argument(fuzz::take_text(input));  // plugstack.conf's

  const ParsedFile file = parse_settings_file(input, "/f");
  const auto lines = static_cast<std::size_t>(std::count(input.begin(), input.end(), '\n')) + 1;
  CHECK(file.assignments.size() + file.errors.size() <= lines);
  for (const Assignment& assignment : file.assignments) {
    CHECK(!assignment.key.empty() && assignment.key.find_first_of("=\n") == std::string::npos);
    CHECK(assignment.value.find('\n') == std::string::npos);
  }

  const SiteSettings site = site_settings(file, {argument});
  CHECK(site.errors.size() <= lines + 1);
  for (const Error& error : site.errors) CHECK(error.kind == ErrorKind::invalid);
  const Settings& settings = site.settings;
  CHECK(settings.address.find("%h") != std::string::npos);
  CHECK(settings.task_timeout.count() >= 1 && settings.task_timeout.count() <= 600);
  CHECK(settings.enoent_wait.count() >= 0 && settings.enoent_wait.count() <= 60'000);
  CHECK(settings.pinstep.empty() || settings.pinstep.starts_with('/'));
  CHECK(settings.scancel.empty() || settings.scancel.starts_with('/'));

  CHECK(settings.jobs <= 1024);
  for (const auto& [name, url] : settings.channels)
    CHECK(!name.empty() && name.find('/') == std::string::npos && !url.empty());

  // What is enforced holds, and wins when it is applied once more, as at a step.
  Settings again = settings;
  for (const Assignment& assignment : site.enforced) CHECK(assign(again, assignment, SetBy::site).has_value());
  CHECK(again == settings);

  Settings from_pin;
  for (const Assignment& policy : changed_policies(settings.policies))
    CHECK(assign(from_pin, policy, SetBy::anyone).has_value());
  CHECK(from_pin.policies == settings.policies);
  return 0;
}
