#include "launcher/worker/store/sockets.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <memory>

namespace pinstep::worker {
namespace {

// Connected before `until`, or an invalid one with errno.
UniqueFd try_address(const addrinfo& target, Moment until) {
  UniqueFd socket(::socket(target.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return socket;
  if (::connect(socket.get(), target.ai_addr, target.ai_addrlen) == 0) return socket;
  if (errno != EINPROGRESS) return {};
  pollfd watched{socket.get(), POLLOUT, 0};
  int error = ETIMEDOUT;
  socklen_t size = sizeof error;
  if (::poll(&watched, 1, poll_time(until)) == 1)
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error == 0) return socket;
  errno = error;
  return {};
}

Result<UniqueFd> listen_on(int family, std::uint16_t port) {
  UniqueFd socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1, off = 0;
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = htons(port);
  const bool is_six = family == AF_INET6;
  const auto* address = is_six ? reinterpret_cast<sockaddr*>(&six) : reinterpret_cast<sockaddr*>(&four);
  const bool is_listening =
      socket.valid() && ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
      (!is_six || ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) == 0) &&
      ::bind(socket.get(), address, is_six ? sizeof six : sizeof four) == 0 &&
      ::listen(socket.get(), SOMAXCONN) == 0;
  if (!is_listening)
    return fail_errno(errno, "serve the ranks on port", std::to_string(port),
                      "MASTER_PORT must be free on the node of rank 0");
  return socket;
}

}  // namespace

int poll_time(Moment until) {
  return static_cast<int>(std::max<std::int64_t>(
      0, std::chrono::ceil<Milliseconds>(until - std::chrono::steady_clock::now()).count()));
}

Result<UniqueFd> listen_on(std::uint16_t port) {
  auto six = listen_on(AF_INET6, port);
  if (six || six.error().kind == ErrorKind::busy) return six;
  return listen_on(AF_INET, port);
}

Result<std::uint16_t> port_of(const UniqueFd& socket) {
  sockaddr_in6 address{};  // the port is at the same place in both families
  socklen_t size = sizeof address;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return fail_errno(errno, "ask for", "a socket's port");
  return ntohs(address.sin6_port);
}

Result<UniqueFd> connect_to(const std::string& host, std::uint16_t port, std::string_view whom, Moment until) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int status = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found); status != 0)
    return fail(ErrorKind::not_found, "cannot find host '" + host + "': " + ::gai_strerror(status));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
  int error = 0;
  for (const addrinfo* target = found; target != nullptr; target = target->ai_next) {
    UniqueFd socket = try_address(*target, until);
    if (socket.valid()) return socket;
    error = errno;
  }
  return fail_errno(error, "reach " + std::string(whom) + " at", shown_address(host, port));
}

std::string local_address(const UniqueFd& socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  char text[INET6_ADDRSTRLEN] = "";
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return "";
  if (address.ss_family == AF_INET) {
    ::inet_ntop(AF_INET, &reinterpret_cast<sockaddr_in&>(address).sin_addr, text, sizeof text);
    return text;
  }
  const in6_addr& six = reinterpret_cast<sockaddr_in6&>(address).sin6_addr;
  if (IN6_IS_ADDR_V4MAPPED(&six))
    ::inet_ntop(AF_INET, six.s6_addr + 12, text, sizeof text);
  else
    ::inet_ntop(AF_INET6, &six, text, sizeof text);
  return text;
}

std::string shown_address(const std::string& host, std::uint16_t port) {
  return (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + std::to_string(port);
}

}  // namespace pinstep::worker
