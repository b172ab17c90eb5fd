#include "launcher/worker/check/peer.h"

#include <endian.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <list>
#include <thread>

#include "launcher/worker/try.h"
#include "launcher/worker/words.h"

namespace pinstep::worker {
namespace {

using Now = std::chrono::steady_clock;

constexpr int kRoundTrips = 100;
constexpr int kPieces = 4;
constexpr std::size_t kPiece = std::size_t{2} << 20;
constexpr int kClockTrips = 16;
constexpr Milliseconds kIdle{60'000};  // a peer that sends nothing for so long
constexpr std::size_t kMostConnections = 256;

std::int64_t wall_clock() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void send_at_once(const UniqueFd& socket) {
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

tl::unexpected<Error> late() { return fail(ErrorKind::timed_out, "it does not answer in time"); }
tl::unexpected<Error> broken() { return fail(ErrorKind::network, "the connection breaks"); }

Result<void> wait(const UniqueFd& socket, short events, Moment until) {
  pollfd watched{socket.get(), events, 0};
  if (::poll(&watched, 1, poll_time(until)) == 0) return late();
  return {};
}

Result<void> send_all(const UniqueFd& socket, const void* data, std::size_t size, Moment until) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t sent = ::send(socket.get(), at, size, MSG_NOSIGNAL);
    if (sent > 0) {
      at += sent;
      size -= static_cast<std::size_t>(sent);
    } else if (errno == EAGAIN) {
      PINSTEP_TRY(wait(socket, POLLOUT, until));
    } else if (errno != EINTR) {
      return broken();
    }
    if (Now::now() >= until) return late();
  }
  return {};
}

Result<void> receive_all(const UniqueFd& socket, void* data, std::size_t size, Moment until) {
  char* at = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t got = ::recv(socket.get(), at, size, 0);
    if (got > 0) {
      at += got;
      size -= static_cast<std::size_t>(got);
    } else if (got < 0 && errno == EAGAIN) {
      PINSTEP_TRY(wait(socket, POLLIN, until));
    } else if (got == 0 || errno != EINTR) {
      return broken();
    }
    if (size > 0 && Now::now() >= until) return late();
  }
  return {};
}

// ---- the side that answers

Result<void> answer(const UniqueFd& socket, std::string& buffer) {
  char verb = 0;
  PINSTEP_TRY(receive_all(socket, &verb, 1, Now::now() + kIdle));
  const Moment until = Now::now() + kIdle;
  std::uint64_t word = 0;
  switch (verb) {
    case 'e':
      PINSTEP_TRY(receive_all(socket, &word, sizeof word, until));
      return send_all(socket, &word, sizeof word, until);
    case 't':
      word = htobe64(static_cast<std::uint64_t>(wall_clock()));
      return send_all(socket, &word, sizeof word, until);
    case 'b':
      PINSTEP_TRY(receive_all(socket, &word, sizeof word, until));
      if (be64toh(word) > kMostBytes) return broken();
      buffer.resize(be64toh(word));
      PINSTEP_TRY(receive_all(socket, buffer.data(), buffer.size(), until));
      return send_all(socket, &verb, 1, until);
    default:
      return broken();
  }
}

}  // namespace

class Answerer::Threads {
 public:
  explicit Threads(UniqueFd listener) : listener_(std::move(listener)), thread_([this] { accept(); }) {}

  ~Threads() {
    is_over_ = true;
    ::shutdown(listener_.get(), SHUT_RDWR);  // wakes accept()
    thread_.join();
    for (Connection& connection : connections_) {
      ::shutdown(connection.socket.get(), SHUT_RDWR);
      connection.thread.join();
    }
  }

 private:
  struct Connection {
    UniqueFd socket;
    std::thread thread;
  };

  void accept() {
    while (!is_over_) {
      pollfd watched{listener_.get(), POLLIN, 0};
      ::poll(&watched, 1, -1);
      UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!socket.valid() || connections_.size() >= kMostConnections) continue;
      send_at_once(socket);
      Connection& connection = connections_.emplace_back();
      connection.socket = std::move(socket);
      connection.thread = std::thread([&connection] {
        std::string buffer;
        while (answer(connection.socket, buffer)) {
        }
        ::shutdown(connection.socket.get(), SHUT_RDWR);
      });
    }
  }

  UniqueFd listener_;
  std::atomic<bool> is_over_ = false;
  std::list<Connection> connections_;  // of thread_, and of the destructor after it
  std::thread thread_;
};

Answerer::Answerer() = default;
Answerer::~Answerer() = default;

Result<std::unique_ptr<Answerer>> Answerer::start() {
  auto listener = listen_on(0);
  if (!listener) return tl::unexpected(listener.error());
  const auto port = port_of(*listener);
  if (!port) return tl::unexpected(port.error());
  std::unique_ptr<Answerer> answerer(new Answerer);
  answerer->port_ = *port;
  answerer->threads_ = std::make_unique<Threads>(std::move(*listener));
  return answerer;
}

// ---- the side that asks

namespace {

Result<UniqueFd> reach(const Peer& peer, Moment until) {
  auto socket = connect_to(peer.host, peer.port, "rank " + std::to_string(peer.rank), until);
  if (socket) send_at_once(*socket);
  return socket;
}

// The shortest round trip, in seconds.
Result<double> round_trip(const UniqueFd& socket, Moment until) {
  double shortest = 1e9;
  for (int i = 0; i < kRoundTrips; ++i) {
    char request[9] = {'e', 0, 0, 0, 0, 0, 0, 0, static_cast<char>(i)}, reply[8];
    const double began = seconds_now();
    PINSTEP_TRY(send_all(socket, request, sizeof request, until));
    PINSTEP_TRY(receive_all(socket, reply, sizeof reply, until));
    shortest = std::min(shortest, seconds_now() - began);
    if (std::memcmp(request + 1, reply, sizeof reply) != 0)
      return fail(ErrorKind::corrupt, "it returns other bytes");
  }
  return shortest;
}

// Bytes per second of the best piece.
Result<double> bandwidth(const UniqueFd& socket, double round_trip, Moment until) {
  const std::string piece(kPiece, 'x');
  const std::uint64_t length = htobe64(kPiece);
  double best = 0;
  for (int i = 0; i < kPieces; ++i) {
    char done = 0;
    const double began = seconds_now();
    PINSTEP_TRY(send_all(socket, "b", 1, until));
    PINSTEP_TRY(send_all(socket, &length, sizeof length, until));
    PINSTEP_TRY(send_all(socket, piece.data(), piece.size(), until));
    PINSTEP_TRY(receive_all(socket, &done, 1, until));
    // The answer's way is none of the bytes' time.
    best = std::max(best, kPiece / std::max(seconds_now() - began - round_trip / 2, 1e-9));
  }
  return best;
}

Result<Link> try_link(const Peer& peer, Moment until) {
  const auto socket = reach(peer, until);
  if (!socket) return tl::unexpected(socket.error());
  const auto trip = round_trip(*socket, until);
  if (!trip) return tl::unexpected(trip.error());
  const auto speed = bandwidth(*socket, *trip, until);
  if (!speed) return tl::unexpected(speed.error());
  return Link{peer.rank, "", *trip / 2, *speed};
}

}  // namespace

Link measure_link(const Peer& peer, Moment until) {
  auto link = try_link(peer, until);
  if (link) return *link;
  return {peer.rank, link.error().cause, 0, 0};
}

Result<Skew> measure_skew(const Peer& peer, Moment until) {
  const auto socket = reach(peer, until);
  if (!socket) return tl::unexpected(socket.error());
  Skew best{0, 1e9};
  for (int i = 0; i < kClockTrips; ++i) {
    std::uint64_t word = 0;
    const double began = seconds_now();
    PINSTEP_TRY(send_all(*socket, "t", 1, until));
    PINSTEP_TRY(receive_all(*socket, &word, sizeof word, until));
    const double half = (seconds_now() - began) / 2;
    // Read half a round trip ago.
    const double difference =
        static_cast<double>(wall_clock() - static_cast<std::int64_t>(be64toh(word))) * 1e-9;
    if (half < best.uncertainty) best = {difference - half, half};
  }
  return best;
}

}  // namespace pinstep::worker
