#include "envtools/build/build.h"

#include "envtools/base/process.h"
#include "envtools/channel/access_json.h"
#include "envtools/json/json.h"

namespace pinstep {
namespace {

constexpr std::size_t kResultLimit = 16 << 20;  // bytes

// at() and get() of the JSON library throw: kept in here.
template <class Value, class Read>
Result<Value> read_json(std::string_view text, std::string_view subject, const Read& read) {
  const auto json = parse_json(text, subject);
  if (!json) return tl::unexpected(json.error());
  try {
    return read(*json);
  } catch (const Json::exception& error) {
    return fail(ErrorKind::invalid, std::string(subject) + " is not as it should be: " + error.what());
  }
}

}  // namespace

std::string format_build_job(const BuildJob& job) {
  Json json;
  json["lock_text"] = job.lock_text;
  json["lock_path"] = job.lock_path;
  json["platform"] = job.platform;
  json["name"] = job.name;
  json["compile"] = job.options.compile;
  json["store"] = job.store;
  json["stores"] = job.stores;
  json["trusted_uids"] = job.trusted_uids;
  json["channel_urls"] = Json::object();
  for (const auto& [base, urls] : job.channel_urls) json["channel_urls"][base] = urls;
  json["access"] = json_of(job.access);
  json["fetch_program"] = job.fetch_program;
  json["jobs"] = job.jobs;
  json["quiet"] = job.quiet;
  json["verbose"] = job.verbose;
  json["progress"] = job.progress;
  return dump_json(json) + "\n";
}

Error refused_to_root() {
  return {ErrorKind::refused, "environments are not locked or built as root",
          "do it as an ordinary user; a store for all users belongs to an account of its own"};
}

Result<BuildJob> parse_build_job(std::string_view text) {
  return read_json<BuildJob>(text, "the build job", [](const Json& json) {
    BuildJob job;
    json.at("lock_text").get_to(job.lock_text);
    json.at("lock_path").get_to(job.lock_path);
    json.at("platform").get_to(job.platform);
    json.at("name").get_to(job.name);
    json.at("compile").get_to(job.options.compile);
    json.at("store").get_to(job.store);
    json.at("stores").get_to(job.stores);
    json.at("trusted_uids").get_to(job.trusted_uids);
    json.at("channel_urls").get_to(job.channel_urls);
    job.access = access_of(json.at("access"));
    json.at("fetch_program").get_to(job.fetch_program);
    json.at("jobs").get_to(job.jobs);
    json.at("quiet").get_to(job.quiet);
    json.at("verbose").get_to(job.verbose);
    json.at("progress").get_to(job.progress);
    return job;
  });
}

std::string format_build_result(const Result<BuildResult>& result) {
  Json json;
  if (result) {
    json["id"] = result->id;
    json["prefix"] = result->prefix;
    json["built"] = result->built;
    json["tree_hash"] = result->tree_hash;
    json["packages"] = result->packages;
    json["fetched"] = result->fetched;
    json["fetched_size"] = result->fetched_size;
    json["notes"] = result->notes;
  } else {
    json["error"] = json_of(result.error());
  }
  return dump_json(json) + "\n";
}

Result<BuildResult> parse_build_result(std::string_view text) {
  return read_json<BuildResult>(text, "the answer of pinstep-build",
                                [](const Json& json) -> Result<BuildResult> {
                                  if (json.contains("error")) return tl::unexpected(error_of(json.at("error")));
                                  BuildResult result;
                                  json.at("id").get_to(result.id);
                                  json.at("prefix").get_to(result.prefix);
                                  json.at("built").get_to(result.built);
                                  json.at("tree_hash").get_to(result.tree_hash);
                                  json.at("packages").get_to(result.packages);
                                  json.at("fetched").get_to(result.fetched);
                                  json.at("fetched_size").get_to(result.fetched_size);
                                  json.at("notes").get_to(result.notes);
                                  return result;
                                });
}

Result<BuildResult> build(const std::string& program, const Environment& environment, const BuildJob& job) {
  const auto done = run({{program}, environment, format_build_job(job)}, kResultLimit);
  if (!done) return tl::unexpected(done.error());
  if (done->signal != 0)
    return fail(ErrorKind::os, "'" + program + "' was ended by signal " + std::to_string(done->signal),
                "what is finished is kept: build again");
  return parse_build_result(done->output);
}

}  // namespace pinstep
