// A rendezvous as PyTorch's TCPStore does it: rank 0 binds MASTER_PORT with SO_REUSEADDR and listens, all
// ranks connect to MASTER_ADDR, and rank 0 answers when WORLD_SIZE ranks are there.
//
//   tcp_store [FILE]     rank 0 says "ready" and binds when FILE is there: a program that imports torch takes
//                        its time, too
//
// Every rank prints "rank R of N met at ADDR:PORT" and exits 0; otherwise one line of error and 1.
#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr int kPatienceSeconds = 20;

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  if (value != nullptr) return value;
  std::fprintf(stderr, "tcp_store: %s is not set\n", name);
  std::exit(1);
}

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "tcp_store: %s: %s\n", what, std::strerror(errno));
  std::exit(1);
}

void wait_for(const char* file) {
  std::puts("ready");
  std::fflush(stdout);
  while (::access(file, F_OK) != 0) ::usleep(10'000);
}

int listen_on(const char* port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(port)));
  if (::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) fail("bind");
  if (::listen(socket, 128) != 0) fail("listen");
  return socket;
}

int connect_to(const char* host, const char* port) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host, port, &hints, &found) != 0) fail("getaddrinfo");
  for (int tries = 0; tries < kPatienceSeconds * 20; ++tries) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(socket, found->ai_addr, found->ai_addrlen) == 0) return socket;
    ::close(socket);
    ::usleep(50'000);
  }
  fail("connect");
}

}  // namespace

int main(int argc, char** argv) {
  const int rank = std::atoi(variable("RANK"));
  const int size = std::atoi(variable("WORLD_SIZE"));
  const char* host = variable("MASTER_ADDR");
  const char* port = variable("MASTER_PORT");
  ::alarm(2 * kPatienceSeconds);  // never outlives a test that has failed

  int server = -1;
  if (rank == 0) {
    if (argc > 1) wait_for(argv[1]);
    server = listen_on(port);
  }
  const int client = connect_to(host, port);
  if (rank == 0) {
    std::vector<int> ranks;
    while (static_cast<int>(ranks.size()) < size) {
      const int one = ::accept(server, nullptr, nullptr);
      if (one < 0) fail("accept");
      ranks.push_back(one);
    }
    for (const int one : ranks)
      if (::write(one, "!", 1) != 1) fail("write");
  }
  char answer = 0;
  if (::read(client, &answer, 1) != 1 || answer != '!') fail("read");
  std::printf("rank %d of %d met at %s:%s\n", rank, size, host, port);
  return 0;
}
