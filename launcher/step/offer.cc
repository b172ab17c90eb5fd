#include "launcher/step/offer.h"

#include "envtools/base/text.h"

namespace pinstep {
namespace {

constexpr std::string_view kSpecial = ";|";

}  // namespace

std::string Offer::text() const {
  std::string list;
  for (const std::string& address : addresses)
    list.append(list.empty() ? "" : "|").append(percent_encode(address, kSpecial));
  return "1;node=" + percent_encode(node, kSpecial) + ";addr=" + list + ";port=" + std::to_string(port) +
         ";entry=" + (entry ? "1" : "0") + ";first=" + percent_encode(first, kSpecial);
}

std::optional<Offer> Offer::parse(std::string_view text) {
  const std::vector<std::string_view> fields = split(text, ';');
  constexpr std::string_view names[] = {"node=", "addr=", "port=", "entry=", "first="};
  if (fields.size() != 1 + std::size(names) || fields[0] != "1") return std::nullopt;
  std::string_view values[std::size(names)];
  for (std::size_t i = 0; i < std::size(names); ++i) {
    if (!fields[i + 1].starts_with(names[i])) return std::nullopt;
    values[i] = fields[i + 1].substr(names[i].size());
  }

  Offer offer;
  auto node = percent_decode(values[0]);
  auto first = percent_decode(values[4]);
  const auto port = parse_number<std::uint16_t>(values[2]);
  if (!node || node->empty() || !first || !port || (values[3] != "0" && values[3] != "1")) return std::nullopt;
  offer.node = std::move(*node);
  offer.first = std::move(*first);
  offer.port = *port;
  offer.entry = values[3] == "1";
  if (values[1].empty()) return offer;
  for (const std::string_view piece : split(values[1], '|')) {
    auto address = percent_decode(piece);
    if (!address || address->empty()) return std::nullopt;
    offer.addresses.push_back(std::move(*address));
  }
  return offer;
}

}  // namespace pinstep
