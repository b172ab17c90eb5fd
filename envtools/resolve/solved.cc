#include "envtools/resolve/solved.h"

#include <algorithm>

#include "envtools/base/fd.h"
#include "envtools/base/text.h"
#include "envtools/hash/hash.h"

namespace pinstep {
namespace {

void add_line(std::string& text, std::string_view key, std::string_view value) {
  text.append(key).append(" ").append(percent_encode(value, "")).append("\n");
}

std::optional<KeptLock> read_kept(const Store& store, const std::string& digest) {
  KeptLock kept{store.lock_text(digest), "", digest};
  auto file = read_file(kept.path, kLockSizeLimit);
  if (!file || sha256_hex(file->text) != digest) return std::nullopt;
  kept.text = std::move(file->text);
  return kept;
}

std::optional<KeptLock> read_solved(const Store& store, std::string_view key, const Trust& trust) {
  const auto file = read_file(store.solved(key), 128);
  if (!file || !trust.covers(file->info.st_uid)) return std::nullopt;
  const std::string digest(trim(file->text));
  return is_hex(digest, 64) ? read_kept(store, digest) : std::nullopt;
}

}  // namespace

std::string spec_key(const SolveInputs& inputs) {
  std::string text = "pinstep-spec-key 1\n" + canonical_text(inputs.spec);
  std::vector<std::string> platforms = inputs.platforms;
  std::sort(platforms.begin(), platforms.end());
  for (const std::string& platform : platforms) add_line(text, "platform", platform);
  std::vector<std::string> profile;
  for (const VirtualPackage& package : inputs.profile)
    profile.push_back(package.name + "=" + package.version + "=" + package.build);
  std::sort(profile.begin(), profile.end());
  for (const std::string& package : profile) add_line(text, "virtual", package);
  const ChannelConfig& channels = inputs.channels;
  add_line(text, "alias", channels.alias);
  for (const auto& [name, url] : channels.named) add_line(text, "named", name + "=" + url);
  for (const auto& [name, url] : channels.custom) add_line(text, "custom", name + "=" + url);
  for (const std::string& channel : channels.defaults) add_line(text, "default", channel);
  for (const std::string& channel : channels.channels) add_line(text, "channel", channel);
  add_line(text, "priority", inputs.channel_priority);
  return sha256_hex(text);
}

Result<KeptLock> keep_lock(const Store& store, std::string text) {
  const std::string digest = sha256_hex(text);
  if (auto kept = read_kept(store, digest)) return std::move(*kept);
  if (const auto ready = prepare_store(store); !ready) return tl::unexpected(ready.error());
  const std::string path = store.lock_text(digest);
  if (const auto written = write_once(path, text); !written) return tl::unexpected(written.error());
  return KeptLock{path, std::move(text), digest};
}

std::optional<KeptLock> find_solved(const std::vector<Store>& stores, std::string_view key,
                                    const Trust& trust) {
  for (const Store& store : stores)
    if (auto kept = read_solved(store, key, trust)) return kept;
  return std::nullopt;
}

Result<SolvedLock> solve_once(const std::vector<Store>& stores, const std::string& key, const Trust& trust,
                              const std::function<Result<Lock>()>& solve,
                              const std::function<void(const std::string& holder)>& on_wait) {
  const auto store = prepare_one(stores);
  if (!store) return tl::unexpected(store.error());
  const auto is_solved = [&] { return find_solved(stores, key, trust).has_value(); };
  const auto lease = LeaseTaker::take(store->build_lease("solve-" + key.substr(0, 16)), {}, is_solved, on_wait);
  if (!lease) return tl::unexpected(lease.error());
  // Between the last look and the lease somebody else may have finished.
  if (auto kept = find_solved(stores, key, trust)) return SolvedLock{std::move(*kept), false};

  const auto lock = solve();
  if (!lock) return tl::unexpected(lock.error());
  auto kept = keep_lock(*store, write_lock(*lock));
  if (!kept) return tl::unexpected(kept.error());
  if (const auto written = write_once(store->solved(key), kept->digest + "\n"); !written)
    return tl::unexpected(written.error());
  return SolvedLock{std::move(*kept), true};
}

}  // namespace pinstep
