// Uses up local ports as a busy node does: short connections to itself, PER_SECOND of them, each from an
// ephemeral port that the kernel chooses from net.ipv4.ip_local_port_range.
//
//   port_churn SECONDS PER_SECOND OPEN
//
// OPEN of them are open at any time.
//
// Prints "ready" when it begins, "1000 connections" when there were so many, and at the end "N connections, N
// refused a port". The listener has a port outside that range.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>

namespace {

constexpr std::uint16_t kListenPort = 9999;

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int open_listener() {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const sockaddr_in address = loopback(kListenPort);
  if (::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener, 1024) != 0) {
    std::perror("port_churn");
    std::exit(1);
  }
  return listener;
}

void say(const char* line) {
  std::puts(line);
  std::fflush(stdout);
}

struct Connection {
  int client;
  int server;
};

// Closing with a reset leaves no TIME_WAIT, also when this program is ended: the port is free at once.
void close_with_reset(int socket) {
  const linger reset{1, 0};
  ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
}

void drop(const Connection& connection) {
  ::close(connection.client);
  ::close(connection.server);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(std::atof(argv[1]));
  const auto pause = static_cast<useconds_t>(1e6 / std::atof(argv[2]));
  const auto open_at_once = static_cast<std::size_t>(std::atol(argv[3]));
  const int listener = open_listener();
  const sockaddr_in target = loopback(kListenPort);
  std::deque<Connection> open;
  long connections = 0;
  long refused = 0;
  say("ready");
  while (std::chrono::steady_clock::now() < end) {
    const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    close_with_reset(client);
    if (::connect(client, reinterpret_cast<const sockaddr*>(&target), sizeof target) == 0) {
      if (++connections == 1000) say("1000 connections");
      open.push_back({client, ::accept(listener, nullptr, nullptr)});
    } else {
      ++refused;
      ::close(client);
    }
    if (open.size() > open_at_once) {
      drop(open.front());
      open.pop_front();
    }
    ::usleep(pause);
  }
  std::printf("%ld connections, %ld refused a port\n", connections, refused);
  return 0;
}
