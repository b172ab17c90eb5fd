// This rank among the others: how it comes to them, and how it leaves, in peace or not.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "launcher/worker/store/heart.h"
#include "launcher/worker/store/place.h"
#include "launcher/worker/train/watchdog.h"
#include "launcher/worker/transport/flight.h"
#include "launcher/worker/transport/gloo.h"

namespace pinstep::worker {

enum class StoreKind { automatic, tcp, pmix };

struct SessionSettings {
  StoreKind store = StoreKind::automatic;
  Milliseconds start_time{300'000};  // for all ranks to come and connect
  Milliseconds deadline{60'000};     // of each collective
  std::string interface;             // of the network; empty for the one that reaches rank 0
  std::string node;                  // this node's name
  // The signal by which this rank was told to stop, or 0; asked until all have come. None: it never is.
  std::function<int()> told_to_stop = {};
  std::string log = {};  // directory for the flight record of a rank that fails; empty: none
};

// Exit codes; in the manual.
enum class Outcome {
  done = 0,
  failed = 1,
  usage = 2,
  peer_lost = 3,
  peers_unclear = 4,
  stuck = 5,     // this rank: others waited for it and have given up
  cut_off = 6,   // this rank's node: neither rank 0 nor any other node is heard
  stopped = 75,  // by a signal, to go on later: EX_TEMPFAIL of sysexits.h
};

// What went wrong, in the end.
struct Ending {
  Outcome outcome = Outcome::failed;
  Error error;                       // with the verdict of all ranks in it
  std::vector<std::uint32_t> ranks;  // to blame, where it is not this one alone by an error of its own
  bool is_to_be_said = true;         // by this rank: no other of its node says the same
};

class Session {
 public:
  Session(SessionSettings settings, Device& device) : settings_(std::move(settings)), device_(device) {}
  ~Session();

  // Reads the place from the environment or PMIx and connects to all. Errors: those of place_from_environment,
  // the stores and the transport.
  Result<void> open(const Environment& environment);
  // Only the first half of it: this rank is known to rank 0 and has the store; connected to nobody else. A rank
  // that is alone has no store.
  Result<void> meet(const Environment& environment);

  const Place& place() const { return place_; }
  Transport& transport() { return *transport_; }
  // What the process ends with where nobody is lost: all ranks come to it together, and rank 0 says the error,
  // if there is one.
  const Ending& ending() const { return ending_; }
  void end_with(Outcome outcome, Error error = {}) {
    const bool says = place_.rank == 0 && !error.cause.empty();
    ending_ = {outcome, std::move(error), {}, says};
  }
  std::string_view transport_name() const { return place_.size == 1 ? "none" : "gloo"; }

  TcpStore* store() { return store_.get(); }
  // The literal address by which other nodes reach this one. After meet().
  std::string address() const;

  // The first `count` ranks among themselves, which call it together; it lives as long as the session. Errors:
  // those of the store and the transport.
  Result<Transport*> group(std::uint32_t count);

  // After an error of open() or of anything that uses the transport: gives up, tells the others, and finds out
  // with them who is to blame. Where a rank was told to stop before all had come, they all are.
  Ending give_up(const Error& error);
  // When all is done: says good-bye; rank 0 waits until all have.
  void close();

 private:
  Result<void> find_place(const Environment& environment);
  Result<void> serve(std::uint16_t port, std::uint32_t size);
  Result<void> connect(const Environment& environment);
  void watch();
  // Who told this rank or another to stop before all had come: the signal's name, or "".
  std::string stopped_by();
  Ending leave(const std::string& signal);
  void abort_all() noexcept;
  Verdict verdict();
  bool is_to_be_said(const std::string& words, const std::vector<std::uint32_t>& blamed);
  void write_record();
  [[noreturn]] void end_hanging();
  Result<std::unique_ptr<GlooTransport>> gloo(std::uint32_t size, const std::string& keys);
  std::unique_ptr<Transport> alone();

  const SessionSettings settings_;
  bool is_open_ = false;  // all have come
  Device& device_;
  Place place_;
  Ending ending_{Outcome::done, {}, {}, false};
  std::unique_ptr<TcpStoreServer> server_;  // rank 0's
  std::unique_ptr<TcpStore> store_;
  std::unique_ptr<Heart> heart_;
  std::unique_ptr<Transport> transport_;
  std::mutex groups_mutex_;                                     // guards groups_, which the watchdog aborts
  std::map<std::uint32_t, std::unique_ptr<Transport>> groups_;  // by how many ranks
  FlightRecord record_;
  std::unique_ptr<Watchdog> watchdog_;
};

}  // namespace pinstep::worker
