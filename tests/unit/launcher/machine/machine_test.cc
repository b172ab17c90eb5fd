#include "launcher/machine/machine.h"

#include <algorithm>

#include "tests/unit/support/random.h"
#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing::ElementsAre;
using testing_support::Random;

TEST(Level, IsThatOfTheLowestCommonAncestor) {
  const Locality gpu{{1, 2, 3, 4}, {0}, {0}};
  const struct {
    const char* what;
    Locality nic;
    Level level;
  } cases[] = {
      {"the next port of the same switch", {{1, 2, 3, 5}, {0}, {0}}, Level::pix},
      {"a switch behind the switch", {{1, 2, 3, 5, 6, 7}, {0}, {0}}, Level::pxb},
      {"another port of the root", {{1, 8}, {0}, {0}}, Level::phb},
      {"another host bridge", {{9, 10}, {0}, {0}}, Level::node},
      {"another memory node", {{9, 10}, {1}, {0}}, Level::pkg},
      {"another package", {{9, 10}, {4}, {1}}, Level::sys},
      {"near several memory nodes", {{9}, {0, 1}, {0}}, Level::pkg},
      {"near all of the machine", {{9}, {0, 1}, {0, 1}}, Level::sys},
  };
  for (const auto& [what, nic, expected] : cases) {
    EXPECT_EQ(level(gpu, nic), expected) << what;
    EXPECT_EQ(level(nic, gpu), expected) << what;
  }
}

TEST(Level, TwoFunctionsOfOneCardAreBelowOneBridge) {
  EXPECT_EQ(level({{1, 2}, {0}, {0}}, {{1, 2}, {0}, {0}}), Level::pix);
}

TEST(Level, IsSymmetric) {
  Random random;
  const auto locality = [&] {
    Locality at;
    for (std::size_t depth = random.below(5); depth > 0; --depth)
      at.bridges.push_back(static_cast<std::uint32_t>(random.below(2) + 2 * at.bridges.size()));
    at.nodes.add(static_cast<std::uint32_t>(random.below(4)));
    at.packages.add(static_cast<std::uint32_t>(random.below(2)));
    return at;
  };
  for (int i = 0; i < 1000; ++i) {
    const Locality a = locality(), b = locality();
    ASSERT_EQ(level(a, b), level(b, a)) << random;
  }
}

TEST(PciAddress, IsReadAndWritten) {
  const struct {
    std::string_view text;
    std::string_view written;
  } cases[] = {
      {"0000:03:00.0", "0000:03:00.0"}, {"03:1f.7", "0000:03:1f.7"}, {"10000:E1:00.0", "10000:e1:00.0"}};
  for (const auto& [text, written] : cases) {
    ASSERT_TRUE(PciAddress::parse(text)) << text;
    EXPECT_EQ(PciAddress::parse(text)->text(), written);
  }
  for (const auto* text :
       {"", "03", "03:00", "0:0:0:0.0", "0000:03:20.0", "0000:03:00.8", "0000:100:00.0", "g:0:0.0"})
    EXPECT_FALSE(PciAddress::parse(text)) << text;
}

Nic nic(std::string name, Network network, Link link = Link::up) {
  Nic nic;
  nic.name = std::move(name);
  nic.network = network;
  nic.link = link;
  return nic;
}

TEST(ChooseNics, TakesTheFastestNetworkWithALink) {
  std::vector<Nic> nics{nic("eth0", Network::ethernet), nic("mlx5_0", Network::fabric, Link::down),
                        nic("mlx5_1", Network::fabric), nic("roce0", Network::roce),
                        nic("", Network::fabric),       nic("mlx5_2", Network::fabric)};
  nics.back().is_virtual_function = true;
  nics.back().physical = PciAddress{};
  const NicChoice choice = choose_nics(nics, false);
  EXPECT_THAT(choice.used, ElementsAre(2U));
  EXPECT_THAT(
      choice.dropped,
      ElementsAre(DroppedNic{"mlx5_0", "link down"}, DroppedNic{"0000:00:00.0", "no driver"},
                  DroppedNic{"mlx5_2", "virtual function"}, DroppedNic{"eth0", "ethernet beside fabric"},
                  DroppedNic{"roce0", "roce beside fabric"}));
  EXPECT_THAT(choose_nics(nics, true).used, ElementsAre(1U, 2U));
}

Nic function_of(std::string name, PciAddress address, bool is_virtual,
                std::optional<PciAddress> physical = {}) {
  Nic function = nic(std::move(name), Network::fabric);
  function.address = address;
  function.is_virtual_function = is_virtual;
  function.physical = physical;
  return function;
}

TEST(ChooseNics, LeavesOutVirtualFunctionsBesideTheirPhysicalOne) {
  const PciAddress physical{0, 3, 0, 0}, same_bus{0, 3, 0, 2}, next_bus{0, 4, 0, 0}, other{1, 3, 0, 2};
  const std::vector<Nic> nics{function_of("mlx5_0", physical, false), function_of("mlx5_1", same_bus, true),
                              function_of("mlx5_2", next_bus, true, physical),
                              function_of("mlx5_3", other, true), function_of("mlx5_4", same_bus, true, other)};
  const NicChoice choice = choose_nics(nics, false);
  EXPECT_THAT(choice.used, ElementsAre(0U, 3U, 4U));
  EXPECT_THAT(choice.dropped,
              ElementsAre(DroppedNic{"mlx5_1", "virtual function"}, DroppedNic{"mlx5_2", "virtual function"}));
}

TEST(ChooseNics, LeavesOutWhatTheSystemMade) {
  std::vector<Nic> nics{nic("virbr0", Network::ethernet), nic("eno1", Network::ethernet)};
  nics[0].is_on_bus = false;
  EXPECT_THAT(choose_nics(nics, false).used, ElementsAre(1U));
  EXPECT_THAT(choose_nics(nics, false).dropped, ElementsAre(DroppedNic{"virbr0", "not on the PCI bus"}));
}

TEST(ChooseNics, TakesASlowerNetworkWhereNoFasterOneHasALink) {
  const std::vector<Nic> nics{nic("eth0", Network::ethernet, Link::unknown),
                              nic("ib0", Network::fabric, Link::down)};
  EXPECT_THAT(choose_nics(nics, false).used, ElementsAre(0U));
}

}  // namespace
}  // namespace pinstep
