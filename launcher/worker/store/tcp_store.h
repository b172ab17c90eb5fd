// A store that rank 0 serves on one TCP port. Its server also keeps the roll (store/roll.h): each rank has one
// connection as long as it lives, and the kernel ends it when the rank dies, however it dies.
//
// Messages (store/wire.h), one answer for each request, in order:
//   hello COOKIE SIZE RANK NODE   ok · refused TEXT
//   set KEY VALUE                 ok
//   get KEY MILLISECONDS          ok VALUE · late TEXT · hopeless TEXT (ranks have failed: it will not come)
//   report [ERROR]                ok; this rank has failed, by its own ERROR or with others
//   progress N                    ok · trouble; this rank lives and has begun its collective N
//   verdict                       ok KIND RANKS TEXT, when it stands
//   claim WORDS                   ok · taken, where another rank was first
//   bye                           ok; the end of the connection is then no loss
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "envtools/base/fd.h"
#include "launcher/worker/store/roll.h"
#include "launcher/worker/store/sockets.h"
#include "launcher/worker/store/store.h"

namespace pinstep::worker {

// Where the server is. Several addresses: of one node, to be tried in turn.
struct Meeting {
  std::vector<std::string> hosts;  // literal addresses or names
  std::uint16_t port = 0;
};

class TcpStoreServer {
 public:
  struct Settings {
    std::string cookie;  // of this job and step: ranks of another are refused
    std::uint32_t size = 1;
    Milliseconds grace{2000};  // how long after the first report others may still report
  };

  // Binds with SO_REUSEADDR: the port may be held for us (launcher/rendezvous/port.h). 0 takes any port. Serves
  // in a thread of its own. Errors: busy, refused, os.
  static Result<std::unique_ptr<TcpStoreServer>> start(std::uint16_t port, Settings settings);
  ~TcpStoreServer();

  std::uint16_t port() const { return port_; }
  // Waits until all ranks that came have gone again, all but one (who does not say good-bye itself), or until
  // `all` have come and gone; not longer than this, or than the other time for ranks that are heard: they live,
  // and something holds them up.
  enum class Whom { present, others, all };
  void linger(Milliseconds most, Whom whom = Whom::present, Milliseconds most_for_heard = Milliseconds(0));

 private:
  class Loop;
  TcpStoreServer();

  std::unique_ptr<Loop> loop_;
  std::thread thread_;
  std::uint16_t port_ = 0;
};

struct Member {
  std::string cookie;
  std::uint32_t size = 1;
  std::uint32_t rank = 0;
  std::string node;
};

class TcpStore final : public Store {
 public:
  // Tries until the server is there. Errors: timed_out, refused (the server does not want us), not_found (no
  // such host), network.
  // `is_stopped`: whether this rank is to wait for nobody any more; asked several times a second, here and in
  // get(). To find the server, and so to be able to tell, a second is left then.
  using Stopped = std::function<bool()>;
  static Result<std::unique_ptr<TcpStore>> connect(const Meeting& meeting, const Member& member,
                                                   Milliseconds timeout, Stopped is_stopped = {});

  Result<void> set(const std::string& key, std::string_view value) override;
  Result<std::string> get(const std::string& key, Milliseconds timeout) override;

  // Tells that this rank has failed. `own_error` as in Roll::report.
  Result<void> report(const std::optional<std::string>& own_error, Milliseconds timeout);
  // How far this rank is. Whether all is well: false where a rank has failed or the store does not answer. Says
  // nothing, and that all is well, while another thread uses the store.
  bool tell_progress(std::uint64_t reached, Milliseconds timeout);
  // Who is to blame; waits for it at most this long. Where the server is gone or silent, it is rank 0.
  Verdict verdict(Milliseconds timeout);
  // Whether this rank is the first that claims these words. Errors: network, timed_out.
  Result<bool> claim(const std::string& words, Milliseconds timeout);
  void bye();

  // Any thread may ask.
  Moment last_answer() const { return last_answer_; }
  // Since when an answer is missing, where the server has not answered in time; nothing where it is gone.
  std::optional<Moment> silent_since();

  // The literal address by which this node reaches the server's, and so the other nodes.
  const std::string& own_address() const { return own_address_; }

 private:
  // `patience`: how long the server may well take.
  Result<std::vector<std::string>> ask(const std::vector<std::string>& request, Milliseconds timeout,
                                       Milliseconds patience = Milliseconds(0));
  // Under mutex_.
  Result<std::vector<std::string>> exchange(const std::vector<std::string>& request, Milliseconds timeout,
                                            Milliseconds patience);
  Result<std::vector<std::string>> send_and_receive(const std::vector<std::string>& request, Moment until);

  Stopped is_stopped_;           // none: it never is
  Milliseconds answer_time_{0};  // for requests that wait for nobody
  std::mutex mutex_;             // guards the connection: one request at a time
  Result<void> trouble_;         // of the first request that was not answered; later ones need not be sent
  std::optional<Moment> silent_since_;
  UniqueFd socket_;
  std::string received_;
  std::atomic<Moment> last_answer_{Moment{}};
  std::string own_address_;
  std::string server_;  // "[10.0.0.1]:29500", for messages
};

}  // namespace pinstep::worker
