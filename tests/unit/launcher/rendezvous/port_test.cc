#include "launcher/rendezvous/port.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/support/child.h"
#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing_support::FailsWith;
using testing_support::Succeeds;

enum class Reuse { no, yes };

// Another program's socket.
UniqueFd tcp_socket(int family, Reuse reuse) {
  UniqueFd socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (reuse == Reuse::yes) ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (family == AF_INET6) ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  return socket;
}

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;

  sockaddr* generic() { return reinterpret_cast<sockaddr*>(&storage); }
};

Address address_of(int family, const char* host, std::uint16_t port) {
  Address address;
  address.storage.ss_family = static_cast<sa_family_t>(family);
  if (family == AF_INET) {
    auto& in = reinterpret_cast<sockaddr_in&>(address.storage);
    in.sin_port = htons(port);
    ::inet_pton(family, host, &in.sin_addr);
    address.size = sizeof in;
  } else {
    auto& in = reinterpret_cast<sockaddr_in6&>(address.storage);
    in.sin6_port = htons(port);
    ::inet_pton(family, host, &in.sin6_addr);
    address.size = sizeof in;
  }
  return address;
}

// errno of the bind, 0 if it worked.
int bind_to(const UniqueFd& socket, int family, const char* host, std::uint16_t port) {
  Address address = address_of(family, host, port);
  return ::bind(socket.get(), address.generic(), address.size) == 0 ? 0 : errno;
}

bool node_has_ipv6() { return bind_to(tcp_socket(AF_INET6, Reuse::no), AF_INET6, "::1", 0) == 0; }

// The addresses that programs bind, of the IP versions that this node has.
struct Place {
  int family;
  const char* host;
};
std::vector<Place> places() {
  std::vector<Place> places{{AF_INET, "0.0.0.0"}, {AF_INET, "127.0.0.1"}};
  if (node_has_ipv6()) places.insert(places.end(), {{AF_INET6, "::"}, {AF_INET6, "::1"}});
  return places;
}

HeldPort held(std::uint16_t port = 0) { return hold_port(port).value(); }

TEST(HoldPort, ChoosesAFreePortForZero) {
  const HeldPort first = held();
  const HeldPort second = held();
  EXPECT_GT(first.port, 0);
  EXPECT_NE(first.port, second.port);
}

TEST(HoldPort, HoldsThePortThatWasAskedFor) {
  const std::uint16_t port = held().port;  // free again at once
  EXPECT_EQ(held(port).port, port);
}

TEST(HoldPort, RefusesASecondHolder) {
  const HeldPort first = held();
  EXPECT_THAT(hold_port(first.port), FailsWith(ErrorKind::busy, "port " + std::to_string(first.port) +
                                                                    " is taken by another program"));
}

TEST(HoldPort, RefusesAPlainBindOnEveryAddress) {
  const HeldPort port = held();
  for (const Place& place : places())
    EXPECT_EQ(bind_to(tcp_socket(place.family, Reuse::no), place.family, place.host, port.port), EADDRINUSE)
        << place.host;
}

TEST(HoldPort, LetsAProgramThatReusesAddressesListenAndBeReached) {
  for (const Place& place : places()) {
    const HeldPort port = held();
    const UniqueFd server = tcp_socket(place.family, Reuse::yes);
    ASSERT_EQ(bind_to(server, place.family, place.host, port.port), 0) << place.host;
    ASSERT_EQ(::listen(server.get(), 1), 0) << place.host;

    const UniqueFd client = tcp_socket(place.family, Reuse::no);
    Address address = address_of(place.family, place.family == AF_INET ? "127.0.0.1" : "::1", port.port);
    EXPECT_EQ(::connect(client.get(), address.generic(), address.size), 0) << place.host;
  }
}

TEST(HoldPort, IsOverWhenTheSocketIsClosed) {
  HeldPort port = held();
  port.socket.reset();
  for (const Place& place : places())
    EXPECT_EQ(bind_to(tcp_socket(place.family, Reuse::no), place.family, place.host, port.port), 0)
        << place.host;
}

TEST(HoldPort, IsRefusedAPortThatSomebodyListensOn) {
  for (const Place& place : places()) {
    const UniqueFd server = tcp_socket(place.family, Reuse::yes);
    ASSERT_EQ(bind_to(server, place.family, place.host, 0), 0);
    ASSERT_EQ(::listen(server.get(), 1), 0);
    Address address;
    address.size = sizeof address.storage;
    ASSERT_EQ(::getsockname(server.get(), address.generic(), &address.size), 0);
    const std::uint16_t port = ntohs(reinterpret_cast<sockaddr_in&>(address.storage).sin_port);
    EXPECT_THAT(hold_port(port),
                FailsWith(ErrorKind::busy, "port " + std::to_string(port) + " is taken by another program"))
        << place.host;
  }
}

TEST(HoldPort, IsNotConnectedTo) {
  const HeldPort port = held();
  const UniqueFd client = tcp_socket(AF_INET, Reuse::no);
  Address address = address_of(AF_INET, "127.0.0.1", port.port);
  EXPECT_NE(::connect(client.get(), address.generic(), address.size), 0);
  EXPECT_EQ(errno, ECONNREFUSED);
}

TEST(HoldPort, DoesNotOutliveAnExec) {
  const HeldPort port = held();
  EXPECT_NE(::fcntl(port.socket.get(), F_GETFD) & FD_CLOEXEC, 0);
}

// With standard output closed the socket would become it, and the program write into it.
TEST(HoldPort, IsKeptThroughExecAsNoStandardStream) {
  const testing_support::ChildEnd end = testing_support::in_child([] {
    for (const int fd : {STDIN_FILENO, STDERR_FILENO}) ::close(fd);
    auto held = hold_port(0);
    if (!held || held->socket.get() > STDERR_FILENO) return 1;  // what the test is about
    const std::uint16_t port = held->port;
    if (!keep_through_exec(std::move(held->socket))) return 2;
    for (const int fd : {STDIN_FILENO, STDERR_FILENO})
      if (::fcntl(fd, F_GETFD) != -1) return 3;
    return hold_port(port) ? 4 : 0;
  });
  EXPECT_EQ(end.exit_code, 0);
}

TEST(HoldPort, LastsAsLongAsOneProcessHasTheSocket) {
  HeldPort port = held();
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    writer.reset();
    char byte;
    ::_exit(::read(reader.get(), &byte, 1) == 0 ? 0 : 1);  // until the parent is done
  }
  port.socket.reset();
  EXPECT_EQ(bind_to(tcp_socket(AF_INET, Reuse::no), AF_INET, "0.0.0.0", port.port), EADDRINUSE);
  writer.reset();
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(bind_to(tcp_socket(AF_INET, Reuse::no), AF_INET, "0.0.0.0", port.port), 0);
}

}  // namespace
}  // namespace pinstep
