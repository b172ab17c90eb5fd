#include "launcher/machine/nic_filter.h"

#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Nic nic(std::string name, Network network, Link link = Link::up) {
  Nic nic;
  nic.name = std::move(name);
  nic.network = network;
  nic.link = link;
  nic.has_verbs = network != Network::ethernet;
  return nic;
}

NicRules rules(std::string_view list) {
  NicRules rules;
  auto parsed = NicList::parse(list);
  EXPECT_TRUE(parsed) << list;
  if (parsed) rules.list = std::move(*parsed);
  return rules;
}

NicRules ignoring_links() {
  NicRules rules;
  rules.ignores_link = true;
  return rules;
}

TEST(NicList, NamesCardsAsNcclDoes) {
  const struct {
    const char* list;
    const char* nic;
    bool excludes;
    bool names;
  } cases[] = {
      {"mlx5_1", "mlx5_1", false, true},
      {"mlx5_1", "mlx5_10", false, true},
      {"mlx5_10", "mlx5_1", false, false},
      {"=mlx5_1", "mlx5_10", false, false},
      {"=mlx5_1", "mlx5_1", false, true},
      {"^mlx5_1", "mlx5_10", true, true},
      {"^=mlx5_1", "mlx5_10", true, false},
      {"^=mlx5_1", "mlx5_1", true, true},
      {"mlx5", "mlx5_3", false, true},
      {"a,b,mlx5_3", "mlx5_3", false, true},
      {"a,b", "mlx5_3", false, false},
      {"mlx5_3:1", "mlx5_3", false, true},
      {"mlx5_3:2", "mlx5_3", false, false},
      {"mlx5_3:2", "mlx5_3:2", false, true},
      {"mlx5_3:1", "mlx5_3:2", false, false},
      {"mlx5_3", "mlx5_3:2", false, true},
      {"=mlx5_3", "mlx5_3:2", false, true},
      {"mlx5_3:1:7:2", "mlx5_3", false, true},
      {"0101:00:00.0", "0101:00:00.0", false, true},
      {"0101:00:00.0", "0102:00:00.0", false, false},
  };
  for (const auto& [text, name, excludes, names] : cases) {
    const auto list = NicList::parse(text);
    ASSERT_TRUE(list) << text;
    EXPECT_EQ(list->excludes(), excludes) << text;
    EXPECT_EQ(list->names(name), names) << text << " " << name;
  }
}

TEST(NicList, RefusesWhatNamesNoCard) {
  for (const auto* text :
       {"", "^", "=", "^=", ",", "mlx5_0,", "mlx5_0:", "mlx5_0:x", "mlx5_0:1:1:1:1", ":1", "mlx5_0:-1"}) {
    const auto list = NicList::parse(text);
    ASSERT_FALSE(list) << text;
    EXPECT_EQ(list.error().kind, ErrorKind::invalid);
  }
}

TEST(ChooseNics, TakesTheBestNetworkWithALink) {
  std::vector<Nic> nics{nic("eth0", Network::ethernet), nic("mlx5_0", Network::fabric, Link::down),
                        nic("mlx5_1", Network::fabric), nic("roce0", Network::roce),
                        nic("", Network::fabric),       nic("mlx5_2", Network::fabric)};
  nics.back().is_virtual_function = true;
  nics.back().physical = PciAddress{};
  const NicChoice choice = choose_nics(nics, {});
  EXPECT_THAT(choice.used, ElementsAre(2U));
  EXPECT_THAT(
      choice.dropped,
      ElementsAre(DroppedNic{"mlx5_0", "link down"}, DroppedNic{"0000:00:00.0", "no driver"},
                  DroppedNic{"mlx5_2", "virtual function"}, DroppedNic{"eth0", "ethernet beside fabric"},
                  DroppedNic{"roce0", "roce beside fabric"}));
  EXPECT_THAT(choose_nics(nics, ignoring_links()).used, ElementsAre(1U, 2U));
}

TEST(ChooseNics, TakesAnotherNetworkWhereTheBestHasNoLink) {
  const std::vector<Nic> nics{nic("eth0", Network::ethernet, Link::unknown),
                              nic("ib0", Network::fabric, Link::down)};
  EXPECT_THAT(choose_nics(nics, {}).used, ElementsAre(0U));
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
  const NicChoice choice = choose_nics(nics, {});
  EXPECT_THAT(choice.used, ElementsAre(0U, 3U, 4U));
  EXPECT_THAT(choice.dropped,
              ElementsAre(DroppedNic{"mlx5_1", "virtual function"}, DroppedNic{"mlx5_2", "virtual function"}));
}

TEST(ChooseNics, LeavesOutWhatTheSystemMade) {
  std::vector<Nic> nics{nic("virbr0", Network::ethernet), nic("eno1", Network::ethernet)};
  nics[0].is_on_bus = false;
  EXPECT_THAT(choose_nics(nics, {}).used, ElementsAre(1U));
  EXPECT_THAT(choose_nics(nics, {}).dropped, ElementsAre(DroppedNic{"virbr0", "not on the PCI bus"}));
}

TEST(ChooseNics, LeavesOutDataProcessingUnitsBesideCards) {
  std::vector<Nic> nics{nic("mlx5_0", Network::fabric), nic("mlx5_2", Network::fabric)};
  nics[1].is_processing_unit = true;
  EXPECT_THAT(choose_nics(nics, {}).used, ElementsAre(0U));
  EXPECT_THAT(choose_nics(nics, {}).dropped,
              ElementsAre(DroppedNic{"mlx5_2", "data processing unit beside cards"}));
  nics[0].is_processing_unit = true;
  EXPECT_THAT(choose_nics(nics, {}).used, ElementsAre(0U, 1U));
}

TEST(ChooseNics, LeavesOutCardsSlowerThanTheFastest) {
  std::vector<Nic> nics{nic("mlx5_0", Network::fabric), nic("mlx5_1", Network::fabric),
                        nic("eth0", Network::ethernet)};
  const struct {
    const char* what;
    std::uint32_t rate[2];
    std::uint32_t bus_rate[2];
    const char* dropped;
  } cases[] = {
      {"rates of ports", {400000, 200000}, {0, 0}, "200 Gb/s beside 400 Gb/s"},
      {"rates of ports before those of the bus", {400000, 400000}, {256000, 128000}, nullptr},
      {"links to the bus", {0, 200000}, {512000, 256000}, "256 Gb/s beside 512 Gb/s"},
      {"not known of one", {0, 200000}, {0, 256000}, nullptr},
  };
  nics[2].rate = 800000;  // of another kind
  nics[1].address.bus = 1;
  for (const auto& [what, rate, bus_rate, dropped] : cases) {
    for (const std::size_t i : {0U, 1U}) nics[i].rate = rate[i], nics[i].bus_rate = bus_rate[i];
    const NicChoice choice = choose_nics(nics, {});
    EXPECT_EQ(choice.used.size(), dropped == nullptr ? 2U : 1U) << what;
    ASSERT_EQ(choice.dropped.size(), dropped == nullptr ? 1U : 2U) << what;
    if (dropped != nullptr) {
      EXPECT_EQ(choice.dropped[1], (DroppedNic{"mlx5_1", dropped})) << what;
    }
  }
}

TEST(ChooseNics, KeepsTheSlowerPortOfTheFastestAdapter) {
  std::vector<Nic> nics{nic("mlx5_0", Network::fabric), nic("mlx5_1", Network::fabric),
                        nic("mlx5_2", Network::fabric)};
  nics[0].rate = 100000;
  nics[1].rate = 200000;
  nics[1].address.function = 1;
  nics[2].rate = 100000;
  nics[2].address.bus = 1;
  EXPECT_THAT(choose_nics(nics, {}).used, ElementsAre(0U, 1U));
}

TEST(ChooseNics, DoesNotTrustTheRateOfAPortWithoutALink) {
  std::vector<Nic> nics{nic("mlx5_0", Network::fabric), nic("mlx5_1", Network::fabric, Link::down)};
  nics[0].rate = 400000;
  nics[1].rate = 10000;
  EXPECT_THAT(choose_nics(nics, ignoring_links()).used, ElementsAre(0U, 1U));
}

TEST(ChooseNics, TakesWhatAListAsksForWhateverItIs) {
  std::vector<Nic> nics{nic("mlx5_0", Network::fabric), nic("mlx5_1", Network::roce),
                        nic("mlx5_2", Network::fabric), nic("mlx5_3", Network::fabric, Link::down),
                        nic("eth0", Network::ethernet)};
  nics[1].rate = 100;
  nics[2].is_processing_unit = true;
  const NicChoice choice = choose_nics(nics, rules("mlx5_1,mlx5_2,mlx5_3"));
  EXPECT_THAT(choice.used, ElementsAre(1U, 2U));
  EXPECT_THAT(choice.dropped,
              ElementsAre(DroppedNic{"mlx5_0", "not in --nics"}, DroppedNic{"mlx5_3", "link down"},
                          DroppedNic{"eth0", "not in --nics"}));
  EXPECT_THAT(choose_nics(nics, rules("eth0")).used, ElementsAre(4U));
  EXPECT_THAT(choose_nics(nics, rules("nothing")).used, IsEmpty());
}

TEST(ChooseNics, LeavesOutWhatAListExcludesBeforeItLooksAtTheRest) {
  const std::vector<Nic> nics{nic("mlx5_0", Network::fabric), nic("roce0", Network::roce),
                              nic("eth0", Network::ethernet)};
  const NicChoice choice = choose_nics(nics, rules("^mlx5"));
  EXPECT_THAT(choice.used, ElementsAre(1U));
  EXPECT_THAT(choice.dropped, ElementsAre(DroppedNic{"mlx5_0", "excluded by --nics"},
                                          DroppedNic{"eth0", "ethernet beside roce"}));
}

TEST(ChooseNics, ListForNcclCountsOnlyWhereThereAreVerbsDevices) {
  NicRules for_nccl = rules("mlx5_0");
  for_nccl.list_is_nccls = true;
  for_nccl.list_name = "NCCL_IB_HCA";
  Nic slingshot = nic("hsi0", Network::fabric);
  slingshot.has_verbs = false;
  EXPECT_THAT(choose_nics({slingshot}, for_nccl).used, ElementsAre(0U));
  const NicChoice choice = choose_nics({slingshot, nic("mlx5_0", Network::roce)}, for_nccl);
  EXPECT_THAT(choice.used, ElementsAre(1U));
  EXPECT_THAT(choice.dropped, ElementsAre(DroppedNic{"hsi0", "not in NCCL_IB_HCA"}));
}

}  // namespace
}  // namespace pinstep
