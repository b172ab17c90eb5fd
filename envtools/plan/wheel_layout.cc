#include "envtools/plan/wheel_layout.h"

#include <algorithm>
#include <set>

#include "envtools/plan/prefix.h"

namespace pinstep {
namespace {

using Kind = PlannedFile::Kind;

struct Place {
  std::string path;
  bool script = false;
};

Result<Place> place_of(const std::string& path, const WheelInfo& info, const PlannedPython& python) {
  const std::string data = info.data + "/";
  if (!path.starts_with(data)) return Place{python.site + "/" + path};
  const std::size_t slash = std::min(path.find('/', data.size()), path.size() - 1);
  const std::string scheme = path.substr(data.size(), slash - data.size());
  const std::string rest = path.substr(slash + 1);
  if (scheme == "purelib" || scheme == "platlib") return Place{python.site + "/" + rest};
  if (scheme == "scripts") return Place{"bin/" + rest, true};
  if (scheme == "headers") return Place{"include/site/python" + python.version + "/" + info.name + "/" + rest};
  if (scheme == "data" && !rest.starts_with("conda-meta/")) return Place{rest};
  return fail(ErrorKind::refused,
              "the wheel '" + info.name + "' wants '" + path + "' where no rule says what that means");
}

// A path as RECORD has it: relative to site-packages.
std::string from_site(const std::string& path, const std::string& site) {
  if (path.starts_with(site + "/")) return path.substr(site.size() + 1);
  std::string up = "../";
  for (const char c : site)
    if (c == '/') up += "../";
  return up + path;
}

}  // namespace

Result<std::vector<PlannedFile>> lay_out_wheel(const WheelSource& source, const PlannedPython& python,
                                               const std::string& prefix) {
  const WheelInfo& info = source.info;
  const std::string interpreter = prefix + "/" + python.program;
  const std::string records = python.site + "/" + info.dist_info + "/";
  // Written by whoever installs.
  const std::set<std::string> ours = {info.dist_info + "/INSTALLER", info.dist_info + "/REQUESTED",
                                      info.dist_info + "/direct_url.json"};
  std::vector<PlannedFile> files;
  std::vector<RecordLine> lines;
  std::int64_t time = 0;
  for (const WheelFile& entry : info.files) {
    if (ours.contains(entry.path)) continue;
    auto place = place_of(entry.path, info, python);
    if (!place) return tl::unexpected(place.error());
    time = std::max(time, entry.time + 1);
    lines.push_back({from_site(place->path, python.site), place->script ? "" : entry.sha256,
                     place->script ? 0 : entry.size});
    PlannedFile file;
    file.path = std::move(place->path);
    file.kind = place->script ? Kind::script : Kind::link;
    file.source = source.directory + "/" + entry.path;
    file.executable = place->script || entry.executable;
    file.content = place->script ? interpreter : "";
    file.time = entry.time;
    file.size = entry.size;
    file.sha256 = place->script ? "" : entry.sha256;
    files.push_back(std::move(file));
  }

  const auto add = [&](std::string path, std::string content, bool executable) {
    PlannedFile file;
    file.path = std::move(path);
    file.kind = Kind::generated;
    file.content = std::move(content);
    file.executable = executable;
    file.time = time;
    files.push_back(std::move(file));
  };
  for (const EntryPoint& entry : info.entry_points) {
    const std::string path = "bin/" + entry.command;
    add(path, entry_point_script(interpreter, entry), true);
    lines.push_back({from_site(path, python.site), "", 0});
  }
  add(records + "INSTALLER", "pinstep\n", false);
  lines.push_back({info.dist_info + "/INSTALLER", "", 0});
  lines.push_back({info.dist_info + "/RECORD", "", 0});
  std::sort(lines.begin(), lines.end(),
            [](const RecordLine& a, const RecordLine& b) { return a.path < b.path; });
  add(records + "RECORD", format_record(lines), false);
  return files;
}

}  // namespace pinstep
