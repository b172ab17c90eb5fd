#include "launcher/rendezvous/addresses.h"

#include <arpa/inet.h>

#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing_support::shown;
using testing_support::Succeeds;
using Addresses = std::vector<std::string>;

// A name service that knows one host.
class OneHost final : public NameService {
 public:
  explicit OneHost(Addresses addresses) : addresses_(std::move(addresses)) {}

  Result<Addresses> addresses(const std::string& host) override {
    if (host != "n1") return fail(ErrorKind::not_found, "no such host");
    return addresses_;
  }

 private:
  Addresses addresses_;
};

bool is_literal(const std::string& address) {
  char buffer[16];
  const std::string host = address.substr(0, address.find('%'));
  return ::inet_pton(AF_INET, host.c_str(), buffer) == 1 || ::inet_pton(AF_INET6, host.c_str(), buffer) == 1;
}

TEST(NodeHostName, ReplacesThePlaceholderWhereverItStands) {
  struct Case {
    std::string_view pattern, name;
  };
  for (const Case& c :
       {Case{"%h", "n1"}, Case{"%h-ib", "n1-ib"}, Case{"ib.%h.example.org", "ib.n1.example.org"},
        Case{"%h.%h", "n1.n1"}, Case{"fixed", "fixed"}, Case{"%", "%"}, Case{"%%h", "%n1"},
        Case{"%H%h", "%Hn1"}, Case{"", ""}})
    EXPECT_EQ(node_host_name(c.pattern, "n1"), c.name) << shown(c.pattern);
  EXPECT_EQ(node_host_name("%h-ib", "%h"), "%h-ib");  // what was put in is not replaced again
  EXPECT_EQ(node_host_name("a%hb", ""), "ab");
}

TEST(IsLoopback, KnowsBothIpVersions) {
  for (const char* address : {"127.0.0.1", "127.0.1.1", "127.255.255.254", "::1"})
    EXPECT_TRUE(is_loopback(address)) << address;
  for (const char* address : {"10.0.0.1", "128.0.0.1", "12.7.0.1", "::", "fe80::1", "::1:1", ""})
    EXPECT_FALSE(is_loopback(address)) << address;
}

TEST(OwnAddresses, AreThoseOfTheNameThatOthersCanReach) {
  OneHost names({"127.0.1.1", "10.0.0.5", "fe80::1%eth0", "169.254.1.2", "2001:db8::5", "::1"});
  EXPECT_THAT(own_addresses("n1", names), ElementsAre("10.0.0.5", "2001:db8::5"));
}

TEST(OwnAddresses, AreThoseOfTheInterfacesWhereTheNameHasNone) {
  OneHost loopback_only({"127.0.1.1"});
  const Addresses addresses = own_addresses("n1", loopback_only);
  EXPECT_EQ(own_addresses("unknown", loopback_only), addresses);
  for (const std::string& address : addresses) {
    EXPECT_TRUE(is_literal(address)) << address;
    EXPECT_FALSE(is_loopback(address)) << address;
  }
}

TEST(SystemNameService, GivesLiteralAddresses) {
  SystemNameService names;
  const auto addresses = names.addresses("127.0.0.1");
  ASSERT_THAT(addresses, Succeeds());
  EXPECT_THAT(*addresses, Contains("127.0.0.1"));
}

TEST(SystemNameService, SaysThatThereIsNoSuchHost) {
  SystemNameService names;
  const auto addresses = names.addresses("no such host");  // no name can hold a blank: nobody is asked
  ASSERT_FALSE(addresses);
  EXPECT_EQ(addresses.error().kind, ErrorKind::not_found);
  EXPECT_THAT(addresses.error().cause, testing::StartsWith("cannot find host 'no such host': "));
}

}  // namespace
}  // namespace pinstep
