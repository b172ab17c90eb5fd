#include "launcher/exports/interface.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>

#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Interface, OwnAddressesAreReachedByTheirInterface) {
  ifaddrs* first = nullptr;
  ASSERT_EQ(::getifaddrs(&first), 0);
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> all(first, &::freeifaddrs);
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET || (one->ifa_flags & IFF_UP) == 0)
      continue;
    char address[NI_MAXHOST];
    ASSERT_EQ(
        ::getnameinfo(one->ifa_addr, sizeof(sockaddr_in), address, sizeof address, nullptr, 0, NI_NUMERICHOST),
        0);
    const bool is_loopback = (one->ifa_flags & IFF_LOOPBACK) != 0;
    EXPECT_EQ(interface_towards(address), is_loopback ? "" : one->ifa_name) << address;
  }
}

TEST(Interface, LoopbackAndNamesGiveNone) {
  for (const auto* address : {"127.0.0.1", "::1", "localhost", "", "1.2.3", "n0", "fe80::1%lo"})
    EXPECT_EQ(interface_towards(address), "") << address;
  EXPECT_EQ(interface_towards_master("no-such-node"), "");
}

TEST(Hosts, GiveTheAddressesOfAName) {
  constexpr auto text =
      "127.0.0.1 localhost\n"
      "10.0.0.1\tn0.site n0 # n1\n"
      "# 10.0.0.2 n0\n"
      "fd00::1 n0 n0\n"
      "10.0.0.3  n1\r\n"
      "10.0.0.4";
  EXPECT_THAT(addresses_in_hosts(text, "n0"), ElementsAre("10.0.0.1", "fd00::1"));
  EXPECT_THAT(addresses_in_hosts(text, "n1"), ElementsAre("10.0.0.3"));
  for (const auto* name : {"n", "10.0.0.1", "", "#", "10.0.0.4"})
    EXPECT_THAT(addresses_in_hosts(text, name), IsEmpty()) << name;
}

}  // namespace
}  // namespace pinstep
