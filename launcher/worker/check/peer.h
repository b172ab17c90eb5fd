// Measures the way from one rank to another over a TCP connection of its own, without the library that the
// training would use: what is wrong here is the network's.
//
// A connection carries requests, each answered before the next:
//   'e' and 8 bytes         the 8 bytes
//   'b', a length, bytes    one byte when all have come        (length: 8 bytes, big-endian, at most
//   kMostBytes) 't'                     the answering rank's wall clock    (nanoseconds since 1970, 8 bytes,
//   big-endian)
#pragma once

#include <memory>

#include "launcher/worker/check/report.h"
#include "launcher/worker/store/sockets.h"

namespace pinstep::worker {

inline constexpr std::size_t kMostBytes = std::size_t{64} << 20;

// Answers whoever connects, until it is destroyed.
class Answerer {
 public:
  static Result<std::unique_ptr<Answerer>> start();
  ~Answerer();

  std::uint16_t port() const { return port_; }

 private:
  class Threads;
  Answerer();

  std::unique_ptr<Threads> threads_;
  std::uint16_t port_ = 0;
};

struct Peer {
  std::uint32_t rank = 0;
  std::string host;
  std::uint16_t port = 0;
};

// Both end by `until` whatever the peer does.
Link measure_link(const Peer& peer, Moment until);
// The other clock's time less this one's, with the sign turned: ours less the peer's.
Result<Skew> measure_skew(const Peer& peer, Moment until);

}  // namespace pinstep::worker
