#include "envtools/pin/resolve.h"

#include <sys/stat.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>

namespace pinstep {
namespace {

tl::unexpected<Error> cannot_find(int error_number, const std::string& path) {
  return fail_errno(error_number, "find", path,
                    error_number == EACCES
                        ? "one of the directories above it is closed to you"
                        : "is the path right? a relative one starts in the working directory");
}

Result<std::string> absolute_path(const std::string& text, const std::string& directory) {
  if (directory.empty() && !text.starts_with('/'))
    return fail(ErrorKind::invalid, "'" + text + "' is relative, and the working directory was removed",
                "give an absolute path");
  const std::filesystem::path joined = std::filesystem::path(directory) / text;
  for (const auto& part : joined) {
    if (part != "..") continue;
    char real[PATH_MAX];
    if (::realpath(joined.c_str(), real) == nullptr) return cannot_find(errno, text);
    return std::string(real);
  }
  std::string path = joined.lexically_normal();
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

Result<void> check_directory(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return cannot_find(errno, path);
  if (!S_ISDIR(info.st_mode))
    return fail(ErrorKind::invalid, "'" + path + "' is a file, and an environment is a directory",
                "name the directory of a prefix that holds conda-meta/pinstep/activation");
  return {};
}

}  // namespace

Result<std::string> existing_path(const std::string& text, const std::string& directory) {
  auto path = absolute_path(text, directory);
  if (struct stat info{}; path && ::stat(path->c_str(), &info) != 0) return cannot_find(errno, *path);
  return path;
}

Result<std::optional<Pin>> resolve(const ResolveRequest& request) {
  if (request.env == "none") return std::optional<Pin>();
  if (request.env.empty())
    return fail(ErrorKind::invalid, "the name of the environment is empty",
                "name the directory of a prefix, or 'none'");
  if (request.env.find('/') == std::string::npos)
    return fail(ErrorKind::invalid, "'" + request.env + "' is not a path to an environment",
                "name a directory with a '/' in it, such as './" + request.env + "', or 'none'");

  const auto path = absolute_path(request.env, request.directory);
  const auto found = path ? check_directory(*path) : tl::unexpected(path.error());
  if (!found) {
    Error error = found.error();
    if (request.env.find_first_of("~$") != std::string::npos)
      error.hint = "nobody has expanded the '~' or '$' in it: #SBATCH lines are taken as they are";
    return tl::unexpected(error);
  }
  SystemClock clock;
  const auto activation = load_activation(*path, request.trust, clock, Clock::Milliseconds{0});
  if (!activation) {
    Error error = activation.error();
    if (error.kind == ErrorKind::not_found) {
      error.cause = "'" + *path + "' is not a prefix made for pinstep: it has no conda-meta/pinstep/activation";
      error.hint = "pinstep(8) shows how to write one for a prefix made by hand";
    } else if (error.hint.empty()) {
      error.hint = "pinstep(8) says what an activation file must be";
    }
    return tl::unexpected(error);
  }

  Pin pin;
  pin.kind = Pin::Kind::foreign;
  pin.token = new_token();
  pin.shape = request.shape;
  pin.gpu_share = request.gpu_share;
  pin.policies = request.policies;
  pin.prefixes.push_back({std::string(own_platform()), "-", *path});
  if (pin.text().size() > Pin::kSizeLimit)
    return fail(ErrorKind::invalid, "the path '" + path->substr(0, 64) + "…' is too long to travel with a job",
                "move the prefix to a shorter path");
  return std::optional<Pin>(std::move(pin));
}

}  // namespace pinstep
