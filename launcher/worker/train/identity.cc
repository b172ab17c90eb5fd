#include "launcher/worker/train/identity.h"

#include <array>
#include <charconv>

#include "envtools/hash/hash.h"

namespace pinstep::worker {
namespace {

// The fewest digits that tell it from every other float.
std::string text_of(float value) {
  std::array<char, 32> digits{};
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr};
}

std::string digest_of(const std::vector<Order>& orders) {
  std::string all;
  for (const Order& order : orders)
    all += sha256_hex({reinterpret_cast<const char*>(order.data()), order.size() * sizeof order[0]});
  return sha256_hex(all);
}

// Digests say nothing to a person.
bool is_readable(const std::string& value) { return value.size() < 64; }

std::string value_in(const std::map<std::string, std::string>& settings, const std::string& name) {
  const auto found = settings.find(name);
  return found == settings.end() ? "none" : found->second;
}

}  // namespace

Identity identity_of(const TrainSettings& settings, const std::vector<LayerPlan>& layers, const DataSet& data) {
  // By name, so that a new setting does not compile before somebody has thought about where it belongs.
  [[maybe_unused]] const auto& [epochs, batch, accumulate, seed, model, optimizer, tail, orders, shards,
                                loaders, most_steps, buckets, is_kept, kept_every] = settings;
  const auto& [kind, rate, decay, momentum, beta1, beta2, epsilon] = optimizer;
  Identity identity{{{"model", std::string(name(model.kind)) + " " + describe(layers)},
                     {"optimizer", std::string(name(kind))},
                     {"seed", std::to_string(seed)},
                     {"data", sha256_hex(sha256_hex(data.train.values) + sha256_hex(data.train.labels))},
                     {"order", orders.empty() ? "by seed" : digest_of(orders)},
                     {"drop-last", tail == Tail::drop ? "yes" : "no"},
                     {"virtual-shards", std::to_string(shards)}},
                    {{"batch", std::to_string(batch)},
                     {"accumulate", std::to_string(accumulate)},
                     {"lr", text_of(rate)},
                     {"weight-decay", text_of(decay)}}};
  if (kind == OptimizerSettings::Kind::sgd)
    identity.free["momentum"] = text_of(momentum);
  else
    identity.free["betas"] = text_of(beta1) + " " + text_of(beta2) + " " + text_of(epsilon);
  if (shards == 0) {  // a bucket's size decides in which order its elements are added up
    identity.free["bucket"] = std::to_string(buckets.other);
    identity.free["first-bucket"] = std::to_string(buckets.first);
  }
  return identity;
}

Result<void> check_same_run(const Identity& mine, const Checkpoint& checkpoint) {
  for (const auto& [name, value] : mine.fixed) {
    const std::string then = value_in(checkpoint.settings, name);
    if (then == value) continue;
    const std::string both = is_readable(then) && is_readable(value) ? ": " + then + ", not " + value : "";
    return fail(ErrorKind::conflict, "the checkpoint is of a run with another " + name + both,
                "give what that run was given, or another directory");
  }
  return {};
}

std::vector<std::string> changes(const Identity& mine, const Checkpoint& checkpoint) {
  std::vector<std::string> changes;
  for (const auto& [name, value] : mine.free)
    if (const std::string then = value_in(checkpoint.settings, name); then != value)
      changes.push_back(name + " " + value + " instead of " + then);
  return changes;
}

}  // namespace pinstep::worker
