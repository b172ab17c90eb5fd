#include "launcher/worker/data/sampler.h"

#include "envtools/base/text.h"
#include "launcher/worker/data/random.h"

namespace pinstep::worker {
namespace {

Result<Order> parse_order(std::string_view line, std::uint32_t samples, const std::string& subject) {
  Order order;
  std::vector<bool> seen(samples);
  for (const std::string_view word : split(line, ' ')) {
    if (word.empty()) continue;
    const auto number = parse_number<std::uint32_t>(word);
    if (!number || *number >= samples || seen[*number])
      return fail(ErrorKind::corrupt, subject + ": '" + printable(word) +
                                          "' is not a sample that is left, of " + std::to_string(samples));
    seen[*number] = true;
    order.push_back(*number);
  }
  if (order.size() == samples) return order;
  return fail(ErrorKind::corrupt,
              subject + ": " + std::to_string(order.size()) + " samples, not " + std::to_string(samples));
}

}  // namespace

Order Sampler::order(std::uint64_t epoch) const {
  return orders.empty() ? permutation(samples, seed, epoch) : orders[(epoch - 1) % orders.size()];
}

std::uint32_t Sampler::per_rank(std::uint64_t consumed) const {
  if (consumed >= samples) return 0;
  const auto left = static_cast<std::uint32_t>(samples - consumed);
  return left / ranks + (left % ranks != 0 && tail == Tail::repeat ? 1 : 0);
}

Order Sampler::indices(std::uint64_t epoch, std::uint32_t rank, std::uint64_t consumed) const {
  return deal(order(epoch), ranks, rank, per_rank(consumed), consumed);
}

Order deal(const Order& order, std::uint32_t ranks, std::uint32_t rank, std::uint32_t per_rank,
           std::uint64_t consumed) {
  Order mine;
  mine.reserve(per_rank);
  for (std::uint64_t i = 0; i < per_rank; ++i)
    mine.push_back(order[(consumed + i * ranks + rank) % order.size()]);
  return mine;
}

Order evaluation_indices(std::uint32_t samples, std::uint32_t ranks, std::uint32_t rank) {
  Order mine;
  for (std::uint64_t i = rank; i < samples; i += ranks) mine.push_back(static_cast<std::uint32_t>(i));
  return mine;
}

Result<std::vector<Order>> parse_orders(std::string_view text, std::uint32_t samples,
                                        const std::string& subject) {
  std::vector<Order> orders;
  std::size_t number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    if (line.empty()) continue;
    auto order = parse_order(line, samples, subject + ":" + std::to_string(number));
    if (!order) return tl::unexpected(order.error());
    orders.push_back(std::move(*order));
  }
  if (orders.empty()) return fail(ErrorKind::corrupt, subject + ": no line with samples");
  return orders;
}

}  // namespace pinstep::worker
