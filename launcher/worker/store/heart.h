// The heart-beats of a rank: TCP connections with its neighbours (store/neighbours.h), on which both sides send
// five times a second when the store last answered them. They do not depend on the store, nor on what the
// rank's own threads do: who is heard has a node, a network and a process.
//
// Messages (store/wire.h): COOKIE RANK AGE, milliseconds since the store's last answer.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "envtools/base/fd.h"
#include "launcher/worker/store/neighbours.h"
#include "launcher/worker/store/sockets.h"

namespace pinstep::worker {

class Heart {
 public:
  struct Settings {
    std::string cookie;
    std::uint32_t rank = 0;
    std::uint32_t size = 1;
    std::string node;
    std::string address;                     // literal, of this node
    std::function<Moment()> store_answered;  // last; from any thread
  };

  // All ranks together: addresses go round through the store, and heart-beats begin. A neighbour that cannot be
  // reached is no error. Errors: os; as get() of the store.
  static Result<std::unique_ptr<Heart>> start(Settings settings, Store& store, Milliseconds timeout);
  ~Heart();

  // By what is heard: see judge_silence().
  Verdict judge(Moment since) const;
  std::vector<Sight> sights() const;

 private:
  struct Connection {
    UniqueFd socket;
    std::string in, out;
    std::optional<std::uint32_t> rank;  // once it is known
  };

  explicit Heart(Settings settings) : settings_(std::move(settings)) {}
  Result<void> meet(Store& store, Milliseconds timeout);
  void run();
  void beat();
  void listen(Moment until);
  void accept();
  void receive(Connection& from);
  void note(Connection& from, const std::vector<std::string>& message);
  void note_end(const Connection& of);
  Sight* sight_of(std::uint32_t rank);

  const Settings settings_;
  Seat host_;
  UniqueFd listener_;
  std::vector<Connection> connections_;  // the thread's, once it runs
  mutable std::mutex mutex_;             // guards sights_
  std::vector<Sight> sights_;
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

}  // namespace pinstep::worker
