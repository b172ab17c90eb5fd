#include "launcher/rendezvous/port.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <string>

namespace pinstep {
namespace {

tl::unexpected<Error> fail_port(int error_number, std::uint16_t port) {
  if (error_number == EADDRINUSE)
    return fail(ErrorKind::busy, "port " + std::to_string(port) + " is taken by another program");
  return fail_errno(error_number, "hold port", std::to_string(port));
}

template <class Address>
Result<HeldPort> hold(UniqueFd socket, Address address, std::uint16_t Address::*port_field) {
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  if (::bind(socket.get(), generic, size) != 0) return fail_port(errno, ntohs(address.*port_field));
  const int on = 1;
  if (::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::getsockname(socket.get(), generic, &size) != 0)
    return fail_port(errno, ntohs(address.*port_field));
  return HeldPort{std::move(socket), ntohs(address.*port_field)};
}

UniqueFd tcp_socket(int family) { return UniqueFd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

}  // namespace

Result<HeldPort> hold_port(std::uint16_t port) {
  if (UniqueFd socket = tcp_socket(AF_INET6); socket.valid()) {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(port);
    const int off = 0;
    // EADDRNOTAVAIL: the kernel knows IPv6 and the node has it switched off.
    if (::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) == 0) {
      auto held = hold(std::move(socket), address, &sockaddr_in6::sin6_port);
      if (held || held.error().kind == ErrorKind::busy) return held;
    }
  }
  UniqueFd socket = tcp_socket(AF_INET);
  if (!socket.valid()) return fail_errno(errno, "make a socket for port", std::to_string(port));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  return hold(std::move(socket), address, &sockaddr_in::sin_port);
}

Result<void> keep_through_exec(UniqueFd socket) {
  if (::fcntl(socket.get(), F_DUPFD, STDERR_FILENO + 1) < 0)
    return fail_errno(errno, "keep", "the port's socket");
  return {};
}

}  // namespace pinstep
