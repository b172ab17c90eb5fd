#include "envtools/build/published.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "envtools/activation/activation.h"
#include "envtools/base/clock.h"
#include "envtools/pin/pin.h"

namespace pinstep {
namespace {

constexpr Clock::Milliseconds kPatience{1000};  // an NFS client remembers for a while what was absent

bool says_damaged(const Error& error) {
  return error.kind == ErrorKind::corrupt || error.kind == ErrorKind::not_found ||
         error.kind == ErrorKind::refused;
}

}  // namespace

Result<std::optional<Published>> find_usable(const std::vector<Store>& stores, std::string_view id,
                                             const Trust& trust) {
  SystemClock clock;
  for (const Store& store : stores) {
    auto published = find_published({store}, id, trust);
    if (published && !*published) continue;
    const auto activation = published ? load_activation((*published)->prefix, trust, clock, kPatience)
                                      : tl::unexpected(published.error());
    if (activation) return published;
    if (!says_damaged(activation.error())) return tl::unexpected(activation.error());
  }
  return std::optional<Published>();
}

Result<Store> store_to_build_in(const std::vector<Store>& stores, std::string_view id) {
  std::optional<Error> first;
  for (const Store& store : stores) {
    const std::string prefix = store.prefix(id);
    struct stat info {};
    const bool is_taken = ::lstat(prefix.c_str(), &info) == 0 && info.st_uid != ::geteuid();
    auto prepared = is_taken
                        ? fail(ErrorKind::refused,
                               "'" + prefix + "' belongs to user " + std::to_string(info.st_uid) +
                                   ", who is not trusted here or has a damaged environment there",
                               "build into another store: PINSTEP_STORE names one, or several separated by ':'")
                        : prepare_store(store);
    if (prepared) return prepared;
    if (!first) first = prepared.error();
  }
  return tl::unexpected(first.value_or(Error{ErrorKind::invalid, "no store is named", ""}));
}

Result<std::optional<std::string>> move_broken_aside(const Store& store, std::string_view id) {
  const std::string aside = store.broken(id, new_token());
  if (::rename(store.prefix(id).c_str(), aside.c_str()) == 0) return std::optional(aside);
  if (errno == ENOENT) return std::optional<std::string>();
  return fail_errno(errno, "move aside the damaged", store.prefix(id));
}

}  // namespace pinstep
