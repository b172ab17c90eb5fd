// pinstep init: an environment.yml to begin with.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "envtools/base/fd.h"
#include "envtools/base/text.h"
#include "envtools/cli/cli.h"
#include "envtools/init/new_spec.h"
#include "envtools/json/json.h"
#include "envtools/lock/lock.h"
#include "envtools/spec/spec.h"

namespace pinstep::cli {
namespace {

namespace fs = std::filesystem;

// clang-format off
constexpr std::string_view kInitUsage =
    R"(usage: pinstep init [--from=SOURCE] [--channel=C]... [--output=FILE] [--json] [PACKAGE]...

Writes an environment.yml to begin with. Nothing is overwritten, solved or installed.

  PACKAGE        such as python=3.12, numpy or 'numpy>=2'

  --from=SOURCE  take over what there is:
                   conda:NAME        an environment of conda, mamba or micromamba
                   DIRECTORY         a conda environment by its path
                   requirements.txt  the pip list
                   pixi.toml         a pixi project
                   pyproject.toml    [project], or [tool.pixi]
  --channel=C    a channel, the most important first; may be repeated. Without it those of
                 SOURCE, or conda-forge
  --output=FILE  write it there instead of environment.yml in this directory
  --json         print an object

Exit status: 0 written, 1 it cannot be, 2 wrong usage.
)";
// clang-format on

constexpr std::string_view kConda = "conda:";

// Roots below which `conda create -n NAME` makes environments, as the environment and the usual places tell.
std::vector<std::string> roots(const Environment& environment) {
  std::vector<std::string> found;
  const auto add = [&](std::string path) {
    if (std::find(found.begin(), found.end(), path) == found.end()) found.push_back(std::move(path));
  };
  if (const auto root = environment.get("MAMBA_ROOT_PREFIX")) add(std::string(*root));
  if (const auto program = environment.get("CONDA_EXE")) add(fs::path(*program).parent_path().parent_path());
  if (const auto prefix = environment.get("CONDA_PREFIX")) {
    const fs::path above = fs::path(*prefix).parent_path();
    add(above.filename() == "envs" ? above.parent_path().string() : std::string(*prefix));
  }
  if (const auto home = environment.get("HOME"))
    for (const char* name : {"miniforge3", "miniconda3", "mambaforge", "anaconda3", "micromamba", ".conda"})
      add(std::string(*home) + "/" + name);
  return found;
}

bool is_environment(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path + "/conda-meta", error);
}

// conda keeps a list of all it has made; its root is `base`.
Result<std::string> environment_called(const std::string& name, const Environment& environment) {
  std::vector<std::string> candidates;
  if (const auto home = environment.get("HOME"))
    if (const auto list = read_file(std::string(*home) + "/.conda/environments.txt", 1 << 20, Links::followed))
      for (const std::string_view line : split(list->text, '\n'))
        if (fs::path(trim(line)).filename() == name) candidates.emplace_back(trim(line));
  if (const auto directories = environment.get("CONDA_ENVS_PATH"))
    for (const std::string_view directory : split(*directories, ':'))
      candidates.push_back(std::string(directory) + "/" + name);
  for (const std::string& root : roots(environment))
    candidates.push_back(name == "base" ? root : root + "/envs/" + name);
  for (const std::string& path : candidates)
    if (is_environment(path)) return path;
  return fail(ErrorKind::not_found, "there is no conda environment '" + printable(name) + "'",
              "'conda env list' shows those that there are; --from=DIRECTORY takes one by its path");
}

Result<NewSpec> read_source(const std::string& source, const World& world) {
  if (source.starts_with(kConda)) {
    const std::string name = source.substr(kConda.size());
    if (name.empty() || name.find('/') != std::string::npos)
      return fail(ErrorKind::usage, "'" + source + "' names no environment", "--from=DIRECTORY takes a path");
    const auto prefix = environment_called(name, world.environment);
    if (!prefix) return tl::unexpected(prefix.error());
    auto spec = from_prefix(*prefix);
    if (spec) spec->name = name;
    return spec;
  }
  const std::string path = fs::path(absolute(source, world.directory)).lexically_normal();
  std::error_code error;
  if (fs::is_directory(path, error))
    return from_prefix(path.ends_with('/') ? path.substr(0, path.size() - 1) : path);
  const auto file = read_file(path, kSpecSizeLimit, Links::followed);
  if (!file) return tl::unexpected(file.error());
  if (path.ends_with(".toml")) return from_project(file->text, path);
  if (file_kind(file->text) != FileKind::unknown)
    return fail(ErrorKind::usage, "'" + path + "' is an environment file or a lock already",
                "'pinstep build " + shell_quote(path) + "' builds it");
  return from_requirements(file->text, path);
}

// What conda would take: letters, digits, '-', '_', '.'.
std::string tidy_name(std::string name) {
  for (char& c : name)
    if (std::string_view("/ :#\n").find(c) != std::string_view::npos) c = '-';
  return name == "base" || name == "root" ? "from-" + name : name;
}

Result<NewSpec> make_spec(const World& world, const Parsed& parsed) {
  NewSpec spec;
  if (const auto source = parsed.last("from")) {
    auto read = read_source(*source, world);
    if (!read) return read;
    spec = std::move(*read);
  }
  spec.conda.insert(spec.conda.end(), parsed.operands.begin(), parsed.operands.end());
  if (spec.conda.empty()) spec.conda = {"python"};
  if (spec.name.empty()) spec.name = fs::path(world.directory).filename();
  spec.name = tidy_name(spec.name);
  if (parsed.has("channel")) spec.channels = parsed.all("channel");
  if (spec.channels.empty()) spec.channels = {"conda-forge"};
  return spec;
}

// Whatever comes to be there meanwhile stays.
Result<void> write_new(const std::string& path, std::string_view text) {
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file.valid()) return fail_errno(errno, "create", path);
  if (write_all(file.get(), text)) return {};
  const int error = errno;
  ::unlink(path.c_str());
  return fail_errno(error, "write", path);
}

Result<int> write_spec(const World& world, const Parsed& parsed) {
  const std::string path = absolute(parsed.last("output").value_or("environment.yml"), world.directory);
  struct stat info {};
  if (::lstat(path.c_str(), &info) == 0)
    return fail(ErrorKind::conflict, "'" + path + "' is there already",
                "--output=FILE writes another; 'pinstep add PACKAGE' changes this one");
  const auto spec = make_spec(world, parsed);
  if (!spec) return tl::unexpected(spec.error());
  const std::string text = format_new_spec(*spec);
  const auto read = parse_spec(text, path);
  if (!read) return tl::unexpected(read.error());
  if (const auto written = write_new(path, text); !written) return tl::unexpected(written.error());
  if (parsed.has("json")) {
    std::printf("%s\n", dump_json(Json{{"spec", path}, {"notes", spec->notes}}).c_str());
    return kOk;
  }
  for (const std::string& note : spec->notes)
    std::fprintf(stderr, "pinstep: note: %s\n", printable(note).c_str());
  for (const std::string& note : read->notes)
    std::fprintf(stderr, "pinstep: note: %s\n", printable(note).c_str());
  const std::string name = parsed.has("output") ? " " + shell_quote(*parsed.last("output")) : "";
  std::printf("%s: %zu packages of conda, %zu lines for pip; next: pinstep lock%s\n", path.c_str(),
              read->conda.size(), read->pip.size(), name.c_str());
  return kOk;
}

int run_init(const World& world, const Arguments& arguments) {
  const auto parsed = parse(arguments, {{"from", true}, {"channel", true}, {"output", true}, {"json", false}});
  if (!parsed) return report(parsed.error(), wants_json(arguments));
  const auto code = write_spec(world, *parsed);
  return code ? *code : report(code.error(), parsed->has("json"));
}

}  // namespace

const Verb kInit{"init", "write an environment.yml to begin with", kInitUsage, run_init};

}  // namespace pinstep::cli
