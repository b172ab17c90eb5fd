// pinstep add, pinstep remove: a package of the spec, and the lock with it.
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "envtools/base/fd.h"
#include "envtools/base/text.h"
#include "envtools/build/build.h"
#include "envtools/cli/cli.h"
#include "envtools/cli/locking.h"
#include "envtools/config/files.h"
#include "envtools/json/json.h"
#include "envtools/lock/changes.h"
#include "envtools/spec/edit.h"
#include "envtools/spec/requirements.h"

namespace pinstep::cli {
namespace {

// clang-format takes the text of a literal with a delimiter for C++.
// clang-format off
constexpr std::string_view kAddUsage =
    R"(usage: pinstep add [--pip] [--spec=SPEC] [--offline] [--json] PACKAGE...

Adds packages to a spec, solves it and writes its lock. The line of a package that is
listed already is replaced; comments and order stay. Where the spec cannot be solved so,
neither file is changed.

  PACKAGE      such as numpy, 'numpy>=2' or conda-forge::numpy; with --pip a requirement

  --pip        in pip's list
  --spec=SPEC  the environment.yml; without it the nearest upward from here
  --offline    use only what the caches have
  --json       print an object

Exit status: 0 done, 1 it cannot be, 2 wrong usage.
)";

constexpr std::string_view kRemoveUsage =
    R"(usage: pinstep remove [--pip] [--spec=SPEC] [--offline] [--json] PACKAGE...

Takes packages out of a spec, solves it and writes its lock. Comments and order stay.
Where the spec cannot be solved so, neither file is changed.

  PACKAGE      a name

  --pip        from pip's list
  --spec=SPEC  the environment.yml; without it the nearest upward from here
  --offline    use only what the caches have
  --json       print an object

Exit status: 0 done, 1 it cannot be, 2 wrong usage.
)";
// clang-format on

using Edit = Result<std::string> (*)(std::string_view, const std::string&, Section, std::string_view);

void print(const std::string& spec, const std::string& lock, const std::vector<PackageChange>& changes,
           bool json) {
  if (json) {
    Json object{{"spec", spec}, {"lock", lock}, {"changes", Json::array()}};
    for (const PackageChange& change : changes) object["changes"].push_back(to_line(change));
    std::printf("%s\n", dump_json(object).c_str());
    return;
  }
  std::printf("%s: %s\n", lock.c_str(), summary(changes).c_str());
  for (const PackageChange& change : changes) std::printf("  %s\n", printable(to_line(change)).c_str());
  if (!changes.empty())
    std::printf("next: 'pinstep build %s', or submit with --env-spec=%s\n", shell_quote(spec).c_str(),
                shell_quote(spec).c_str());
}

Result<int> edit_spec(const World& world, const Parsed& parsed, Edit edit) {
  if (::geteuid() == 0) return tl::unexpected(refused_to_root());
  const auto path = spec_path(world, parsed.last("spec"));
  if (!path) return tl::unexpected(path.error());
  const auto before = read_file(*path, kSpecSizeLimit, Links::followed);
  if (!before) return tl::unexpected(before.error());
  std::string text = before->text;
  for (const std::string& package : parsed.operands) {
    auto edited = edit(text, *path, parsed.has("pip") ? Section::pip : Section::conda, package);
    if (!edited) return tl::unexpected(edited.error());
    text = std::move(*edited);
  }
  auto spec = parse_spec(text, *path);
  if (!spec) return tl::unexpected(spec.error());
  if (auto read = read_requirement_files(*spec); !read) return tl::unexpected(read.error());

  const auto settings = load_user_settings(world.environment, {});
  if (!settings) return tl::unexpected(settings.error());
  Progress progress;
  auto options = lock_options(world, settings->settings, progress);
  if (!options) return tl::unexpected(options.error());
  options->offline = parsed.has("offline");
  const std::string lock_path = lock_path_of(*path);
  const auto check = check_lock(*spec, lock_path, *options);
  if (!check) return tl::unexpected(check.error());
  if (!check->ours)
    return fail(ErrorKind::conflict, "'" + lock_path + "' was not made by pinstep",
                "'pinstep lock --update-all' replaces it");
  if (auto solver = add_solver(*options, settings->settings, progress); !solver)
    return tl::unexpected(solver.error());
  const auto lock = make_lock(*spec, *options, check->lock ? &*check->lock : nullptr);
  progress.clear();
  if (!lock) return tl::unexpected(lock.error());

  // The spec last: a lock that fits no spec is noticed, a spec that fits no lock as well.
  if (auto saved = save_lock(*lock, lock_path); !saved) return tl::unexpected(saved.error());
  const std::string file = std::filesystem::canonical(*path).string();
  if (auto saved = replace_file(file, text); !saved) return tl::unexpected(saved.error());
  print(*path, lock_path,
        package_changes(check->lock ? check->lock->packages : std::vector<LockedPackage>{}, lock->packages),
        parsed.has("json"));
  return kOk;
}

int run_edit(const World& world, const Arguments& arguments, const char* verb, Edit edit) {
  const auto parsed = parse(arguments, {{"pip", false}, {"spec", true}, {"offline", false}, {"json", false}});
  if (!parsed) return report(parsed.error(), wants_json(arguments));
  if (parsed->operands.empty())
    return report({ErrorKind::usage, std::string(verb) + " needs a package", ""}, parsed->has("json"));
  const auto code = edit_spec(world, *parsed, edit);
  return code ? *code : report(code.error(), parsed->has("json"));
}

}  // namespace

const Verb kAdd{
    "add", "add packages to a spec and solve it", kAddUsage,
    [](const World& world, const Arguments& words) { return run_edit(world, words, "add", add_to_spec); }};
const Verb kRemove{"remove", "take packages out of a spec and solve it", kRemoveUsage,
                   [](const World& world, const Arguments& words) {
                     return run_edit(world, words, "remove", remove_from_spec);
                   }};

}  // namespace pinstep::cli
