#include "envtools/pin/use.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>

#include "envtools/base/fd.h"
#include "envtools/base/text.h"

namespace pinstep {
namespace {

constexpr std::size_t kShortId = 16;
constexpr std::size_t kToken = 16;
constexpr std::size_t kClusterLimit = 60;  // bytes; a file's name has at most 255

constexpr std::array<std::pair<Use::Kind, std::string_view>, 3> kKinds{{
    {Use::Kind::submit, "submit"},
    {Use::Kind::job, "job"},
    {Use::Kind::run, "run"},
}};

std::optional<Use::Kind> parse_kind(std::string_view name) {
  for (const auto& [kind, text] : kKinds)
    if (text == name) return kind;
  return std::nullopt;
}

// What comes after the kind.
std::optional<Use> parse_rest(Use use, const std::vector<std::string_view>& parts) {
  if (use.kind == Use::Kind::run) {
    const auto user = parse_number<std::uint32_t>(parts[2]);
    if (parts.size() != 3 || !user) return std::nullopt;
    use.user = *user;
    return use;
  }
  if (!is_hex(parts[2], kToken)) return std::nullopt;
  use.token = parts[2];
  if (use.kind == Use::Kind::submit) return parts.size() == 3 ? std::optional(use) : std::nullopt;
  const auto job = parts.size() == 5 ? parse_number<std::uint32_t>(parts[3]) : std::nullopt;
  const auto cluster = job ? percent_decode(parts[4]) : std::nullopt;
  if (!cluster) return std::nullopt;
  use.job = *job;
  use.cluster = *cluster;
  return use;
}

template <class Note>
void for_each_prefix(const Pin& pin, Note note) {
  if (pin.kind != Pin::Kind::store) return;
  for (const PinnedPrefix& entry : pin.prefixes) note(entry.id.substr(0, kShortId));
}

}  // namespace

std::string file_name(const Use& use) {
  std::string name = use.id16 + "." + std::string(kKinds[static_cast<std::size_t>(use.kind)].second) + ".";
  if (use.kind == Use::Kind::run) return name + std::to_string(use.user);
  name += use.token;
  if (use.kind == Use::Kind::submit) return name;
  return name + "." + std::to_string(use.job) + "." + percent_encode(use.cluster, "./");
}

std::optional<Use> parse_use(std::string_view name) {
  const auto parts = split(name, '.');
  if (parts.size() < 3 || !is_hex(parts[0], kShortId)) return std::nullopt;
  const auto kind = parse_kind(parts[1]);
  if (!kind) return std::nullopt;
  auto use = parse_rest({std::string(parts[0]), *kind}, parts);
  // One name for one use: "007" and "7" would be two.
  return use && file_name(*use) == name ? use : std::nullopt;
}

std::string use_directory(std::string_view store) { return std::string(store) + "/u"; }

void note_use(const std::string& store, const Use& use) {
  const UniqueFd directory(::open(use_directory(store).c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory.valid()) return;
  // Not to wait for a FIFO that somebody put there.
  const UniqueFd file(::openat(directory.get(), file_name(use).c_str(),
                               O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644));
  if (file.valid()) ::futimens(file.get(), nullptr);
}

void note_submission(const Pin& pin) {
  for_each_prefix(pin, [&](const std::string& id16) {
    note_use(pin.store, {id16, Use::Kind::submit, pin.token});
  });
}

void note_job(const Pin& pin, const Environment& environment) {
  const auto number = [&](std::string_view name) {
    return parse_number<std::uint32_t>(environment.get(name).value_or(""));
  };
  auto job = number("SLURM_ARRAY_JOB_ID");
  if (!job) job = number("SLURM_JOB_ID");
  if (!job) return;
  const std::string cluster(environment.get("SLURM_CLUSTER_NAME").value_or("").substr(0, kClusterLimit));
  for_each_prefix(pin, [&](const std::string& id16) {
    note_use(pin.store, {id16, Use::Kind::job, pin.token, *job, cluster});
  });
}

}  // namespace pinstep
