#include "launcher/exports/interface.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <memory>
#include <optional>

#include "envtools/base/fd.h"
#include "envtools/base/text.h"

namespace pinstep {
namespace {

constexpr std::size_t kMostBytes = 1 << 20;

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;

  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

std::optional<Address> parse_address(const std::string& text) {
  constexpr auto any_port = 9;  // discard(9): connect() wants one, and nothing is sent
  Address address;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&address.storage);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
  if (::inet_pton(AF_INET, text.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(any_port);
    address.size = sizeof *v4;
    return address;
  }
  if (::inet_pton(AF_INET6, text.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(any_port);
    address.size = sizeof *v6;
    return address;
  }
  return std::nullopt;
}

bool is_same(const sockaddr* a, const sockaddr* b) {
  if (a->sa_family != b->sa_family) return false;
  if (a->sa_family == AF_INET)
    return std::memcmp(&reinterpret_cast<const sockaddr_in*>(a)->sin_addr,
                       &reinterpret_cast<const sockaddr_in*>(b)->sin_addr, sizeof(in_addr)) == 0;
  return a->sa_family == AF_INET6 &&
         std::memcmp(&reinterpret_cast<const sockaddr_in6*>(a)->sin6_addr,
                     &reinterpret_cast<const sockaddr_in6*>(b)->sin6_addr, sizeof(in6_addr)) == 0;
}

std::string interface_with(const sockaddr* address) {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> all(first, &::freeifaddrs);
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next)
    if (one->ifa_addr != nullptr && is_same(one->ifa_addr, address))
      return (one->ifa_flags & IFF_LOOPBACK) != 0 ? "" : one->ifa_name;
  return {};
}

}  // namespace

std::string interface_towards(const std::string& address) {
  auto there = parse_address(address);
  if (!there) return {};
  const UniqueFd socket(::socket(there->storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket.valid() || ::connect(socket.get(), there->get(), there->size) != 0) return {};
  Address here;
  here.size = sizeof here.storage;
  if (::getsockname(socket.get(), here.get(), &here.size) != 0) return {};
  return interface_with(here.get());
}

std::vector<std::string> addresses_in_hosts(std::string_view text, std::string_view name) {
  std::vector<std::string> addresses;
  for (std::string_view line : split(text, '\n')) {
    line = line.substr(0, line.find('#'));
    std::string_view address;
    while (!(line = trim(line)).empty()) {
      const std::string_view word = line.substr(0, line.find_first_of(" \t"));
      line.remove_prefix(word.size());
      if (address.empty()) {
        address = word;
      } else if (word == name) {
        addresses.emplace_back(address);
        break;
      }
    }
  }
  return addresses;
}

std::string interface_towards_master(const std::string& master) {
  if (std::string interface = interface_towards(master); !interface.empty()) return interface;
  const auto hosts = read_file("/etc/hosts", kMostBytes, Links::followed);
  if (!hosts) return {};
  for (const std::string& address : addresses_in_hosts(hosts->text, master))
    if (std::string interface = interface_towards(address); !interface.empty()) return interface;
  return {};
}

}  // namespace pinstep
