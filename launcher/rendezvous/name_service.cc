// Apart from addresses.cc: a static program cannot use the name service, and pinstep-launch need not.
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <memory>

#include "launcher/rendezvous/addresses.h"

namespace pinstep {
namespace {

std::string literal(const sockaddr* address, socklen_t size) {
  char text[NI_MAXHOST];
  if (::getnameinfo(address, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0) return {};
  return text;
}

bool is_link_local(std::string_view literal_address) {
  return literal_address.starts_with("fe80:") || literal_address.starts_with("169.254.");
}

// IPv4 first: what clusters route, and what every program understands.
std::vector<std::string> interface_addresses() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, ::freeifaddrs);
  std::vector<std::string> addresses;
  for (const int family : {AF_INET, AF_INET6}) {
    const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    for (const ifaddrs* i = list; i != nullptr; i = i->ifa_next) {
      if (i->ifa_addr == nullptr || i->ifa_addr->sa_family != family) continue;
      if ((i->ifa_flags & IFF_UP) == 0 || (i->ifa_flags & IFF_LOOPBACK) != 0) continue;
      const std::string address = literal(i->ifa_addr, size);
      if (!address.empty() && !is_link_local(address)) addresses.push_back(address);
    }
  }
  return addresses;
}

}  // namespace

Result<std::vector<std::string>> SystemNameService::addresses(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int error = ::getaddrinfo(host.c_str(), nullptr, &hints, &list);
  if (error != 0)
    return fail(ErrorKind::not_found, "cannot find host '" + host + "': " + ::gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, ::freeaddrinfo);
  std::vector<std::string> addresses;
  for (const addrinfo* info = list; info != nullptr; info = info->ai_next) {
    std::string address = literal(info->ai_addr, info->ai_addrlen);
    if (!address.empty()) addresses.push_back(std::move(address));
  }
  return addresses;
}

std::vector<std::string> own_addresses(const std::string& host_name, NameService& names) {
  auto addresses = names.addresses(host_name);
  if (addresses) {
    std::erase_if(*addresses, [](const std::string& a) { return is_loopback(a) || is_link_local(a); });
    if (!addresses->empty()) return std::move(*addresses);
  }
  return interface_addresses();
}

}  // namespace pinstep
