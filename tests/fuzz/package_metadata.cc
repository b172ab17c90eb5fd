// What a package says of itself is refused, or has names and paths that stay inside a prefix.
#include "envtools/package/metadata.h"
#include "tests/fuzz/check.h"

using namespace pinstep;

namespace {

void check_inside(const std::string& path) {
  CHECK(!path.empty() && path.front() != '/' && path.find('\0') == std::string::npos);
  CHECK(("/" + path + "/").find("/../") == std::string::npos);
  CHECK(("/" + path + "/").find("//") == std::string::npos);
}

void check_paths(const Result<std::vector<PackagePath>>& paths) {
  if (!paths) return;
  for (std::size_t i = 0; i < paths->size(); ++i) {
    check_inside((*paths)[i].path);
    CHECK(i == 0 || (*paths)[i - 1].path < (*paths)[i].path);
    CHECK((*paths)[i].placeholder.empty() == ((*paths)[i].mode == PackagePath::Mode::none));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input = fuzz::as_text(data, size);
  check_paths(parse_paths(input, "paths.json"));
  package_format_version(input);
  if (auto info = parse_index(input, "index.json")) {
    for (const std::string* part : {&info->name, &info->version, &info->build}) {
      check_inside(*part);
      CHECK(part->find('/') == std::string::npos);
    }
    if (!info->python_site_packages_path.empty()) check_inside(info->python_site_packages_path);
  }
  PackageInfo info;
  if (add_link_json(info, input, "link.json"))
    for (const EntryPoint& point : info.entry_points) CHECK(point.command.find('/') == std::string::npos);
  if (const auto name = parse_archive_name(input)) check_inside(name->stem);
  const std::string_view files = fuzz::take_text(input);
  const std::string_view has_prefix = fuzz::take_text(input);
  check_paths(parse_old_paths(files, has_prefix, input, "files"));
  return 0;
}
