#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <list>
#include <set>

#include "envtools/base/text.h"
#include "launcher/worker/store/sockets.h"
#include "launcher/worker/store/tcp_store.h"
#include "launcher/worker/store/wire.h"

namespace pinstep::worker {
namespace {

using Now = std::chrono::steady_clock;

// Strangers may connect, too: those that do not say hello get no more than this many places beyond the ranks.
constexpr std::size_t kStrangers = 64;

struct Connection {
  struct Waiting {
    std::string key;
    Now::time_point until;
  };

  UniqueFd socket;
  std::string in, out;
  std::optional<std::uint32_t> rank;  // after hello
  std::optional<Waiting> waiting;     // for a key
  bool wants_verdict = false;
  bool is_over = false;
};

}  // namespace

class TcpStoreServer::Loop {
 public:
  Loop(UniqueFd listener, UniqueFd wake, Settings settings)
      : listener_(std::move(listener)),
        wake_(std::move(wake)),
        settings_(std::move(settings)),
        roll_(settings_.size, settings_.grace),
        missing_(settings_.size) {}

  void run();
  // From another thread.
  void stop() {
    is_stopped_ = true;
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(wake_.get(), &one, sizeof one);
  }
  std::uint32_t present() const { return present_; }
  std::uint32_t missing() const { return missing_; }
  bool hears_somebody() const { return hears_somebody_; }

 private:
  void wait();
  void accept();
  void receive(Connection& from);
  void answer(Connection& to, const Message& request);
  void hello(Connection& from, const Message& request);
  void get(Connection& from, const Message& request);
  void wake_waiting();
  void wake_for_key(Connection& connection);
  void drop_ended();
  static void reply(Connection& to, const Message& message) { to.out += encode(message); }
  static void flush(Connection& to);

  UniqueFd listener_, wake_;
  const Settings settings_;
  Roll roll_;
  std::map<std::string, std::string> values_;
  std::set<std::string> claims_;
  std::list<Connection> connections_;
  std::atomic<bool> is_stopped_ = false;
  std::atomic<std::uint32_t> present_ = 0;  // ranks that came and have not left
  std::atomic<std::uint32_t> missing_;      // that have not come
  std::atomic<bool> hears_somebody_ = false;
};

void TcpStoreServer::Loop::run() {
  while (!is_stopped_) {
    wait();
    wake_waiting();
    for (Connection& connection : connections_) flush(connection);
    drop_ended();
    present_ = roll_.present();
    missing_ = static_cast<std::uint32_t>(roll_.missing().size());
    hears_somebody_ = roll_.hears_somebody(Now::now());
  }
}

void TcpStoreServer::Loop::wait() {
  std::vector<pollfd> watched{{wake_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
  std::optional<Now::time_point> until;
  const auto sooner = [&](Now::time_point moment) { until = until ? std::min(*until, moment) : moment; };
  for (const Connection& connection : connections_) {
    const auto events = static_cast<short>(POLLIN | (connection.out.empty() ? 0 : POLLOUT));
    watched.push_back({connection.socket.get(), events, 0});
    if (connection.waiting) sooner(connection.waiting->until);
    if (connection.wants_verdict && roll_.due()) sooner(*roll_.due());
  }
  int timeout = -1;
  if (until) {
    const auto left = std::chrono::ceil<Milliseconds>(*until - Now::now()).count();
    timeout = static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
  }
  if (::poll(watched.data(), watched.size(), timeout) <= 0) return;
  auto watch = watched.begin() + 2;
  for (Connection& connection : connections_)
    if ((watch++)->revents & (POLLIN | POLLHUP | POLLERR)) receive(connection);
  if (watched[1].revents != 0) accept();
}

void TcpStoreServer::Loop::accept() {
  for (;;) {
    UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.valid()) return;
    if (connections_.size() >= settings_.size + kStrangers) continue;
    const int on = 1;
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    connections_.emplace_back().socket = std::move(socket);
  }
}

void TcpStoreServer::Loop::receive(Connection& from) {
  char chunk[65536];
  const ssize_t size = ::read(from.socket.get(), chunk, sizeof chunk);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) {
    from.is_over = true;
    return;
  }
  from.in.append(chunk, static_cast<std::size_t>(size));
  bool is_broken = false;
  while (const auto request = take_message(from.in, is_broken)) answer(from, *request);
  if (is_broken) from.is_over = true;
}

void TcpStoreServer::Loop::answer(Connection& to, const Message& request) {
  const std::string verb = request.empty() ? "" : request[0];
  if (verb == "hello" && request.size() == 5 && !to.rank) return hello(to, request);
  if (!to.rank) {
    to.is_over = true;  // a stranger
  } else if (verb == "set" && request.size() == 3) {
    values_[request[1]] = request[2];
    reply(to, {"ok"});
  } else if (verb == "get" && request.size() == 3) {
    get(to, request);
  } else if (verb == "report" && request.size() <= 2) {
    roll_.report(*to.rank, request.size() == 2 ? std::optional(request[1]) : std::nullopt, Now::now());
    reply(to, {"ok"});
  } else if (verb == "progress" && request.size() == 2) {
    roll_.hear(*to.rank, parse_number<std::uint64_t>(request[1]).value_or(0), Now::now());
    reply(to, {roll_.is_in_trouble() ? "trouble" : "ok"});
  } else if (verb == "verdict") {
    to.wants_verdict = true;
  } else if (verb == "claim" && request.size() == 2) {
    reply(to, {claims_.insert(request[1]).second ? "ok" : "taken"});
  } else if (verb == "bye") {
    roll_.leave(*to.rank);
    to.rank.reset();
    reply(to, {"ok"});
  } else {
    to.is_over = true;
  }
}

void TcpStoreServer::Loop::hello(Connection& from, const Message& request) {
  const auto size = parse_number<std::uint32_t>(request[2]);
  const auto rank = parse_number<std::uint32_t>(request[3]);
  if (request[1] != settings_.cookie)
    return reply(from, {"refused", "it serves another job or step: '" + printable(settings_.cookie) +
                                       "', not '" + printable(request[1]) + "'"});
  if (!size || !rank || *size != settings_.size)
    return reply(from,
                 {"refused", "it serves " + std::to_string(settings_.size) + " ranks, not " + request[2]});
  if (const auto arrived = roll_.arrive(*rank, printable(request[4])); !arrived)
    return reply(from, {"refused", arrived.error().cause});
  from.rank = *rank;
  reply(from, {"ok"});
}

void TcpStoreServer::Loop::get(Connection& from, const Message& request) {
  const auto patience = parse_number<std::uint32_t>(request[2]);
  from.waiting = {request[1], Now::now() + Milliseconds(patience.value_or(0))};
}

void TcpStoreServer::Loop::wake_for_key(Connection& connection) {
  const auto value = values_.find(connection.waiting->key);
  if (value != values_.end()) {
    reply(connection, {"ok", value->second});
  } else if (roll_.is_in_trouble()) {
    const auto verdict = roll_.verdict(Now::now());
    reply(connection, {"hopeless", verdict ? verdict->text : "another rank has given up"});
  } else if (Now::now() >= connection.waiting->until) {
    const auto missing = roll_.missing();
    reply(connection, {"late", missing.empty() ? "" : roll_.name(missing) + " did not arrive"});
  } else {
    return;
  }
  connection.waiting.reset();
}

void TcpStoreServer::Loop::wake_waiting() {
  for (Connection& connection : connections_) {
    if (connection.is_over) continue;
    if (connection.waiting) wake_for_key(connection);
    if (!connection.wants_verdict) continue;
    const auto verdict = roll_.verdict(Now::now());
    if (!verdict) continue;
    std::string ranks;
    for (const std::uint32_t rank : verdict->ranks) ranks += (ranks.empty() ? "" : ",") + std::to_string(rank);
    reply(connection, {"ok", std::string(to_string(verdict->kind)), ranks, verdict->text});
    connection.wants_verdict = false;
  }
}

void TcpStoreServer::Loop::flush(Connection& to) {
  while (!to.out.empty() && !to.is_over) {
    const ssize_t sent = ::send(to.socket.get(), to.out.data(), to.out.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return;
    if (sent < 0)
      to.is_over = true;
    else
      to.out.erase(0, static_cast<std::size_t>(sent));
  }
}

void TcpStoreServer::Loop::drop_ended() {
  const auto lost = [this](const Connection& connection) {
    if (connection.is_over && connection.rank) roll_.lose(*connection.rank);
    return connection.is_over;
  };
  // A loss may be what others wait for.
  if (std::erase_if(connections_, lost) == 0) return;
  wake_waiting();
  for (Connection& connection : connections_) flush(connection);
}

TcpStoreServer::TcpStoreServer() = default;

Result<std::unique_ptr<TcpStoreServer>> TcpStoreServer::start(std::uint16_t port, Settings settings) {
  auto listener = listen_on(port);
  if (!listener) return tl::unexpected(listener.error());
  const auto number = port_of(*listener);
  if (!number) return tl::unexpected(number.error());
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC));
  if (!wake.valid()) return fail_errno(errno, "make", "an eventfd");
  std::unique_ptr<TcpStoreServer> server(new TcpStoreServer);
  server->port_ = *number;
  server->loop_ = std::make_unique<Loop>(std::move(*listener), std::move(wake), std::move(settings));
  server->thread_ = std::thread([loop = server->loop_.get()] { loop->run(); });
  return server;
}

TcpStoreServer::~TcpStoreServer() {
  loop_->stop();
  thread_.join();
}

void TcpStoreServer::linger(Milliseconds most, Whom whom, Milliseconds most_for_heard) {
  const auto until = Now::now() + most, until_for_heard = Now::now() + most_for_heard;
  const auto is_awaited = [&] {
    return loop_->present() > (whom == Whom::others ? 1U : 0U) || (whom == Whom::all && loop_->missing() > 0);
  };
  const auto is_time_left = [&] {
    const auto now = Now::now();
    return now < until || (loop_->hears_somebody() && now < until_for_heard);
  };
  while (is_awaited() && is_time_left()) std::this_thread::sleep_for(Milliseconds(5));
}

}  // namespace pinstep::worker
