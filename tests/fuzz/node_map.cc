// A map that is accepted is the same after it was written again, and all that its ranks name is in it.
#include "launcher/mapfile/node_map.h"

#include "launcher/mapfile/show_map.h"
#include "tests/fuzz/check.h"

using namespace pinstep;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto map = parse_map(fuzz::as_text(data, size));
  if (!map) return 0;
  CHECK(map->bandwidth_unit > 0);
  for (const MappedRank& rank : map->ranks)
    for (const std::uint32_t gpu : rank.gpus) CHECK(gpu < map->gpus.size());
  const auto again = parse_map(write_map(*map));
  CHECK(again && *again == *map);
  CHECK(show_map(*map).ends_with('\n'));
  CHECK(map_json(*map, "n").ends_with("}\n"));
  for (std::uint32_t rank = 0; rank < map->ranks.size(); ++rank) CHECK(!show_rank(*map, rank).empty());
  return 0;
}
