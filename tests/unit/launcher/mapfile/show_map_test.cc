#include "launcher/mapfile/show_map.h"

#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

NodeMap two_ranks() {
  NodeMap map;
  map.gpus = {{{0, 3, 0, 0}, Vendor::nvidia, 0, 0, "", {3}, "mlx5_0", Level::pix},
              {{0, 0x44, 0, 0}, Vendor::nvidia, 1, 1, "", {1}, "", Level::sys}};
  map.nics = {{"mlx5_0", Network::fabric, true}};
  map.dropped = {{"eno1", "link down"}};
  map.notes = {"a note"};
  map.ranks = {{{0, 1}, {0, 1, 8, 9}, 2, 3}, {{}, {}, 0, {}}};
  map.bandwidth = 14;
  map.bandwidth_unit = 5;
  return map;
}

TEST(ShowMap, ATableAndTheObjective) {
  EXPECT_EQ(show_map(two_ranks()),
            "rank  gpu           nic     level  memory  cores  cpus\n"
            "0     0000:03:00.0  mlx5_0  PIX    3       2      0-1,8-9\n"
            "      0000:44:00.0  -       -\n"
            "1     -             -       -      -       -      not bound\n"
            "not used: eno1 (link down)\n"
            "note: a note\n"
            "bandwidth 2.80  levels 0  off 0  cores 0  spread 0  rails 0\n");
}

TEST(ShowMap, ScoresBelow) {
  NodeMap map = two_ranks();
  map.scores = {{"pinstep", CardScore{14, 5, 6, {2, 0, 0, 1, 0, 0}, 1}, 0},
                {"block", CardScore{1, 1, 15, {0, 0, 0, 0, 0, 3}, 1}, {}},
                {"linear-cores", {}, 2}};
  const std::string text = show_map(map);
  EXPECT_EQ(text.substr(text.find("\n\n")),
            "\n\nrule          bandwidth  levels  gpus at       cards   off\n"
            "pinstep       2.80       6       2 PIX 1 NODE  1 of 1  0\n"
            "block         1.00       15      3 SYS         1 of 1  -\n"
            "linear-cores  -          -       -             -       2\n");
  const std::string json = map_json(map, "n1");
  EXPECT_EQ(
      json.substr(json.find("\"scores\"")),
      "\"scores\": [{\"rule\": \"pinstep\", \"bandwidth\": 2.80, \"levels\": 6, \"gpus_at\": {\"PIX\": 2, "
      "\"PXB\": 0, \"PHB\": 0, \"NODE\": 1, \"PKG\": 0, \"SYS\": 0}, \"cards\": 1, \"off\": 0}, "
      "{\"rule\": \"block\", \"bandwidth\": 1.00, \"levels\": 15, \"gpus_at\": {\"PIX\": 0, \"PXB\": 0, "
      "\"PHB\": 0, \"NODE\": 0, \"PKG\": 0, \"SYS\": 3}, \"cards\": 1}, {\"rule\": \"linear-cores\", "
      "\"off\": 2}]}\n");
}

TEST(ShowMap, ARankInOneLine) {
  EXPECT_EQ(show_rank(two_ranks(), 0),
            "GPU 0000:03:00.0 with mlx5_0 (PIX), GPU 0000:44:00.0, cpus 0-1,8-9, memory node 3");
  EXPECT_EQ(show_rank(two_ranks(), 1), "no GPU, not bound");
}

}  // namespace
}  // namespace pinstep
