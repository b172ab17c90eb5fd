#include "envtools/solver/solver.h"

#include <algorithm>
#include <array>

#include "envtools/base/process.h"
#include "envtools/base/text.h"
#include "envtools/channel/access_json.h"
#include "envtools/hash/hash.h"
#include "envtools/json/json.h"
#include "envtools/lock/names.h"

namespace pinstep {
namespace {

constexpr int kContract = 1;
constexpr std::size_t kAnswerLimit = 64 << 20;  // bytes; a thousand packages need one

Json json_of(const SolveCommon& request) {
  Json json;
  json["contract"] = kContract;
  json["platform"] = request.platform;
  json["offline"] = request.offline;
  json["cache"] = request.cache;
  json["timeout"] = request.time_limit.count();
  if (!request.exclude_newer.empty()) json["exclude_newer"] = request.exclude_newer;
  json["preferred"] = Json::array();
  for (const Preferred& package : request.preferred)
    json["preferred"].push_back(
        {{"name", package.name}, {"version", package.version}, {"sha256", package.sha256}});
  json["access"] = json_of(request.access);
  return json;
}

Json json_of(const std::vector<SpecLine>& lines) {
  Json json = Json::array();
  for (const SpecLine& line : lines)
    json.push_back({{"text", line.text}, {"line", line.line}, {"origin", line.origin}});
  return json;
}

tl::unexpected<Error> breaks_contract(std::string_view what) {
  return fail(ErrorKind::corrupt, "the solver's answer breaks its contract: " + std::string(what),
              "was it changed by hand? pinstep setup makes it anew");
}

// The back end's own words, with the place in the spec where it names one.
Error refusal(const Json& json, const std::string& path, const std::vector<SpecLine>& lines) {
  Error error = error_of(json);
  const auto index = json.find("spec");
  if (index != json.end() && index->is_number_unsigned() && index->get<std::size_t>() < lines.size())
    error.cause = path + ":" + std::to_string(lines[index->get<std::size_t>()].line) + ": " + error.cause;
  return error;
}

Result<LockedPackage> package_of(const Json& json, Manager manager, const std::string& platform) {
  LockedPackage package;
  package.manager = manager;
  package.platform = platform;
  package.name = text_of(json, "name");
  package.version = text_of(json, "version");
  package.build = text_of(json, "build");
  package.url = without_credentials(text_of(json, "url"));
  package.sha256 = text_of(json, "sha256");
  package.md5 = text_of(json, "md5");
  if (const auto size = json.find("size"); size != json.end() && size->is_number_unsigned())
    package.size = size->get<std::uint64_t>();
  if (package.name.empty() || package.version.empty() || package.url.find("://") == std::string::npos)
    return breaks_contract("a package without name, version or URL");
  if (!is_hex(package.sha256, 64))
    return fail(ErrorKind::unsupported, "'" + package.url + "' has no sha256 in its channel or index",
                "ask for a channel or index that names one: what is not named by its content cannot be pinned");
  if (const auto depends = json.find("depends"); depends != json.end() && depends->is_array())
    for (const Json& entry : *depends)
      if (entry.is_string()) add_dependency(package.dependencies, entry.get_ref<const std::string&>());
  return package;
}

Result<SolveAnswer> parse_answer(std::string_view text, Manager manager, const std::string& platform,
                                 const std::string& path, const std::vector<SpecLine>& lines) {
  const auto json = parse_json(text, "the solver's answer");
  if (!json) return breaks_contract(json.error().cause);
  if (!json->is_object()) return breaks_contract("no object");
  if (const auto error = json->find("error"); error != json->end())
    return tl::unexpected(refusal(*error, path, lines));
  SolveAnswer answer;
  answer.backend = text_of(*json, "backend");
  answer.version = text_of(*json, "version");
  const auto packages = json->find("packages");
  if (packages == json->end() || !packages->is_array()) return breaks_contract("no packages");
  for (const Json& entry : *packages) {
    if (!entry.is_object()) return breaks_contract("a package that is no object");
    auto package = package_of(entry, manager, platform);
    if (!package) return tl::unexpected(package.error());
    if (const std::string source = text_of(entry, "source"); !source.empty())
      answer.sources[package->name] = without_credentials_anywhere(source);
    answer.packages.push_back(std::move(*package));
  }
  std::sort(answer.packages.begin(), answer.packages.end(),
            [](const LockedPackage& a, const LockedPackage& b) { return a.name < b.name; });
  return answer;
}

// Conda packages that bring a distribution of another name, where a pip list is likely to meet it.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kOtherNames{{
    {"dask-core", "dask"},
    {"matplotlib-base", "matplotlib"},
    {"msgpack-python", "msgpack"},
    {"py-opencv", "opencv-python"},
    {"python-xxhash", "xxhash"},
    {"pytorch", "torch"},
    {"ray-core", "ray"},
    {"tensorflow-base", "tensorflow"},
}};

Result<std::string> run_back_end(const SolverPrograms& programs, const Environment& environment,
                                 const std::string& script, const std::string& request,
                                 std::chrono::seconds time_limit) {
  // Without -E and -s a user's PYTHONPATH or ~/.local would get into the solver; -B keeps the installed
  // directory as it is.
  const Command command{{programs.python, "-E", "-s", "-B", programs.scripts + "/" + script},
                        environment,
                        request,
                        true,
                        time_limit + programs.patience};
  const auto end = run(command, kAnswerLimit);
  if (!end && end.error().kind == ErrorKind::timed_out)
    return fail(ErrorKind::timed_out,
                "the solver '" + script + "' hangs: it was ended after " +
                    std::to_string((time_limit + programs.patience).count()) + " s",
                "does 'pinstep setup' mend it?");
  if (!end) return tl::unexpected(end.error());
  const bool keeps_contract = end->signal == 0 && end->exit_code <= 4 && end->output.starts_with('{');
  if (keeps_contract) return end->output;
  const std::string how = end->signal != 0 ? "was ended by signal " + std::to_string(end->signal)
                                           : "failed with exit code " + std::to_string(end->exit_code);
  const std::string last(last_line(end->errors));
  return fail(ErrorKind::os, "the solver '" + script + "' " + how + (last.empty() ? "" : ": " + last),
              "does 'pinstep setup' mend it?");
}

}  // namespace

std::string format_solve_request(const SolveRequest& request) {
  Json json = json_of(request);
  json["channels"] = Json::array();
  for (const Channel& channel : request.channels)
    json["channels"].push_back({{"name", channel.name}, {"url", channel.url}, {"mirrors", channel.mirrors}});
  json["specs"] = Json::array();
  for (const SpecLine& spec : request.specs) json["specs"].push_back(spec.text);
  json["virtual_packages"] = Json::array();
  for (const VirtualPackage& package : request.virtual_packages)
    json["virtual_packages"].push_back({{"name", package.name},
                                        {"version", package.version},
                                        {"build", package.build.empty() ? "0" : package.build}});
  json["channel_priority"] = request.channel_priority;
  return dump_json(json);
}

std::string format_pip_request(const PipRequest& request) {
  Json json = json_of(request);
  json["path"] = request.path;
  json["directory"] = request.directory;
  json["python"] = request.python;
  json["glibc"] = request.glibc;
  json["lines"] = json_of(request.lines);
  json["constraints"] = json_of(request.constraints);
  json["provided"] = Json::object();
  for (const auto& [name, version] : request.provided) json["provided"][name] = version;
  return dump_json(json);
}

Result<SolveAnswer> parse_solve_answer(std::string_view text, const SolveRequest& request) {
  return parse_answer(text, Manager::conda, request.platform, request.path, request.specs);
}

Result<SolveAnswer> parse_pip_answer(std::string_view text, const PipRequest& request) {
  return parse_answer(text, Manager::pip, request.platform, request.path, request.lines);
}

std::map<std::string, std::string> provided_distributions(const std::vector<LockedPackage>& packages) {
  std::map<std::string, std::string> provided;
  for (const LockedPackage& package : packages) {
    if (package.manager != Manager::conda || !package.dependencies.contains("python")) continue;
    const auto other = std::find_if(kOtherNames.begin(), kOtherNames.end(),
                                    [&](const auto& entry) { return entry.first == package.name; });
    provided.emplace(other == kOtherNames.end() ? normalized_name(package.name) : std::string(other->second),
                     package.version);
  }
  return provided;
}

Result<SolveAnswer> solve_conda(const SolverPrograms& programs, const Environment& environment,
                                const SolveRequest& request) {
  const auto text =
      run_back_end(programs, environment, "solve_conda.py", format_solve_request(request), request.time_limit);
  if (!text) return tl::unexpected(text.error());
  return parse_solve_answer(*text, request);
}

Result<SolveAnswer> solve_pip(const SolverPrograms& programs, const Environment& environment,
                              const PipRequest& request) {
  const auto text =
      run_back_end(programs, environment, "solve_pip.py", format_pip_request(request), request.time_limit);
  if (!text) return tl::unexpected(text.error());
  return parse_pip_answer(*text, request);
}

}  // namespace pinstep
