#include "envtools/cli/resolving.h"

#include <chrono>
#include <cstdio>
#include <filesystem>

#include "envtools/activation/activation.h"
#include "envtools/base/fd.h"
#include "envtools/base/text.h"
#include "envtools/cli/building.h"
#include "envtools/hash/hash.h"
#include "envtools/pin/resolve.h"
#include "envtools/pin/use.h"
#include "envtools/resolve/solved.h"
#include "envtools/store/records.h"

namespace pinstep::cli {
namespace {

struct Request {
  Place place;
  Shape shape = Shape::automatic;
  bool gpu_share = false;
};

Result<void> assign_word(Settings& settings, std::string_view key, const std::optional<std::string>& word) {
  if (!word) return {};
  auto done = assign(settings, {std::string(key), *word, false, "--env-" + std::string(key)}, SetBy::anyone);
  if (!done) done.error().kind = ErrorKind::usage;
  return done;
}

Result<Request> read_request(const World& world, const ResolveWords& words) {
  const auto shape = parse_shape(words.shape.value_or("auto"));
  if (!shape)
    return fail(ErrorKind::usage, "there is no shape '" + *words.shape + "'",
                "it is auto, rank, torchrun, spawn or none");
  auto place = load_place(world, "", words.site);
  if (!place) return tl::unexpected(place.error());
  Request request{std::move(*place), *shape, words.gpu_share};
  for (const auto& [key, word] : {std::pair{"lock", words.lock}, std::pair{"build", words.build}})
    if (const auto done = assign_word(request.place.settings, key, word); !done)
      return tl::unexpected(done.error());
  auto& build = request.place.settings.build;
  if (build != Settings::Build::job || words.batch_step) return request;
  if (words.build)
    return fail(ErrorKind::usage,
                "--env-build=job builds in the step of a batch script, by the plugin, and here is none",
                "--env-build=submit builds now");
  build = Settings::Build::submit;
  return request;
}

// ---- the pin of a prefix in a store

Pin new_pin(const Request& request) {
  Pin pin;
  pin.token = new_token();
  pin.shape = request.shape;
  pin.gpu_share = request.gpu_share;
  pin.policies = request.place.settings.policies;
  return pin;
}

Result<std::optional<Pin>> finished(Pin pin) {
  if (pin.text().size() > Pin::kSizeLimit)
    return fail(ErrorKind::invalid,
                "the path '" + pin.store.substr(0, 64) + "…' is too long to travel with a job",
                "move the store to a shorter path");
  return std::optional<Pin>(std::move(pin));
}

// Opened once, so that what cannot be used is found out before the job queues.
Result<void> check_usable(const Request& request, const std::string& prefix) {
  SystemClock clock;
  const auto activation = load_activation(prefix, request.place.trust, clock, Clock::Milliseconds{0});
  if (activation) return {};
  Error error = activation.error();
  if (error.kind == ErrorKind::corrupt || error.kind == ErrorKind::not_found)
    error.hint = "'pinstep build' moves the damaged environment aside and builds it anew";
  return tl::unexpected(error);
}

Result<std::optional<Pin>> pin_of(const Request& request, const Published& published, const std::string& lock) {
  Pin pin = new_pin(request);
  pin.kind = Pin::Kind::store;
  pin.lock = lock;
  pin.store = store_of(published).directory();
  pin.prefixes = {{std::string(own_platform()), published.id, published.prefix}};
  // First the note, then the look: whoever removes environments does it the other way round.
  note_submission(pin);
  if (const auto usable = check_usable(request, published.prefix); !usable)
    return tl::unexpected(usable.error());
  return finished(std::move(pin));
}

// Whether two paths are one directory. A link to a prefix, such as .pinstep/NAME, moves with the next build; a
// job is to keep what it was submitted with.
bool same_directory(const std::string& one, const std::string& other) {
  std::error_code error;
  return std::filesystem::equivalent(one, other, error) && !error;
}

// A directory: one of a store's prefixes, or somebody's own.
Result<std::optional<Pin>> pin_of_directory(const World& world, const Request& request,
                                            const std::string& path) {
  const auto id = read_file(id_file(path), 128);
  if (id && is_hex(trim(id->text), 64)) {
    const auto published = find_published(request.place.stores, trim(id->text), request.place.trust);
    if (!published) return tl::unexpected(published.error());
    if (*published && same_directory((*published)->prefix, path))
      return pin_of(request, **published, (*published)->lock);
  }
  return resolve({path, world.directory, request.place.trust, request.place.settings.policies, request.shape,
                  request.gpu_share});
}

// ---- the pin of a spec or lock

Result<std::optional<Pin>> pin_to_be_built(const Request& request, const std::string& id,
                                           const ChosenLock& lock) {
  const auto store = prepare_one(request.place.stores);
  if (!store) return tl::unexpected(store.error());
  const auto kept = keep_lock(*store, lock.file.text);
  if (!kept) return tl::unexpected(kept.error());
  Pin pin = new_pin(request);
  pin.kind = Pin::Kind::store;
  pin.build_in_job = true;
  pin.lock = kept->digest;
  pin.store = store->directory();
  pin.prefixes = {{std::string(own_platform()), id, store->prefix(id)}};
  note_submission(pin);
  return finished(std::move(pin));
}

Result<void> build_now(const World& world, const Request& request, const ChosenLock& lock) {
  const auto job = build_job(world, request.place, lock, build_options(request.place.settings));
  if (!job) return tl::unexpected(job.error());
  const auto begin = std::chrono::steady_clock::now();
  const auto result = build(private_file("pinstep-build"), world.environment, *job);
  if (!result) return tl::unexpected(result.error());
  for (const std::string& note : result->notes)
    std::fprintf(stderr, "pinstep: note: %s\n", printable(note).c_str());
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (result->built)
    std::fprintf(stderr, "pinstep: built %s in %.1f s: %zu packages\n", result->prefix.c_str(), seconds,
                 result->packages);
  return {};
}

Result<std::optional<Pin>> pin_of_file(const World& world, const Request& request, const NamedEnv& env) {
  Progress progress;
  const auto lock = choose_lock(world, request.place, env, Beside::on_terminal, progress);
  if (!lock) return tl::unexpected(lock.error());
  const auto id = environment_id(lock->lock, own_platform(), build_options(request.place.settings));
  if (!id) return tl::unexpected(id.error());
  const std::string digest = sha256_hex(lock->file.text);
  const auto find = [&] { return find_published(request.place.stores, *id, request.place.trust); };

  auto published = find();
  if (!published) return tl::unexpected(published.error());
  if (*published) {
    // For whoever asks later what the job ran in; a store that cannot be written is no error.
    if (const auto store = prepare_one(request.place.stores)) [[maybe_unused]]
      const auto kept = keep_lock(*store, lock->file.text);
    return pin_of(request, **published, digest);
  }
  switch (request.place.settings.build) {
    case Settings::Build::never:
      return fail(ErrorKind::not_found,
                  "the environment of '" + env.path + "' is not built, and may not be (never)",
                  "'pinstep build " + shell_quote(lock->file.path) + "' builds it");
    case Settings::Build::job:
      return pin_to_be_built(request, *id, *lock);
    case Settings::Build::submit:
      break;
  }
  if (const auto built = build_now(world, request, *lock); !built) return tl::unexpected(built.error());
  published = find();
  if (!published) return tl::unexpected(published.error());
  if (!*published)
    return fail(ErrorKind::not_found, "the environment of '" + env.path + "' was built and is gone again");
  return pin_of(request, **published, digest);
}

// Steps without an environment, whose ranks find each other.
std::optional<Pin> rendezvous_only(const Request& request) {
  if (request.shape == Shape::none) return std::nullopt;
  Pin pin = new_pin(request);
  pin.kind = Pin::Kind::none;
  return pin;
}

}  // namespace

Result<std::optional<Pin>> resolve_words(const World& world, const ResolveWords& words) {
  if (words.env == "none" && !words.shape) return std::optional<Pin>();
  const auto request = read_request(world, words);
  if (!request) return tl::unexpected(request.error());
  if (words.env == "none") return rendezvous_only(*request);
  const auto env = env_of(world, request->place, words.upward ? std::nullopt : std::optional(words.env));
  if (!env) {
    Error error = env.error();
    if (words.env.find_first_of("~$") != std::string::npos)
      error.hint = "nobody has expanded the '~' or '$' in it: #SBATCH lines are taken as they are";
    return tl::unexpected(error);
  }
  switch (env->kind) {
    case NamedEnv::Kind::none:
      return std::optional<Pin>();
    case NamedEnv::Kind::prefix:
      return pin_of_directory(world, *request, env->path);
    case NamedEnv::Kind::id:
      return pin_of(*request, *env->published, env->published->lock);
    case NamedEnv::Kind::spec:
    case NamedEnv::Kind::lock:
      break;
  }
  return pin_of_file(world, *request, *env);
}

}  // namespace pinstep::cli
