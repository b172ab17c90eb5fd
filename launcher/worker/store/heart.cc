#include "launcher/worker/store/heart.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "envtools/base/text.h"
#include "launcher/worker/store/wire.h"
#include "launcher/worker/try.h"

namespace pinstep::worker {
namespace {

using Now = std::chrono::steady_clock;

constexpr Milliseconds kInterval{200};
constexpr Milliseconds kConnectTime{1000};    // of a neighbour, which listens already
constexpr std::size_t kMostConnections = 64;  // strangers may connect, too
constexpr char kAll[] = "heart/all";

std::string key(std::uint32_t rank) { return "heart/" + std::to_string(rank); }

// Where a rank listens.
struct Post {
  std::string node, host;
  std::uint16_t port = 0;
};

// Of all ranks, by rank: node, address and port of each, one after the other.
std::optional<std::vector<Post>> parse_posts(std::string bytes, std::uint32_t size) {
  bool is_broken = false;
  const auto words = take_message(bytes, is_broken);
  if (!words || words->size() != std::size_t{size} * 3) return std::nullopt;
  std::vector<Post> posts;
  for (std::size_t i = 0; i < words->size(); i += 3) {
    const auto port = parse_number<std::uint16_t>((*words)[i + 2]);
    if (!port) return std::nullopt;
    posts.push_back({(*words)[i], (*words)[i + 1], *port});
  }
  return posts;
}

// What each has set, by rank 0 for all: so each asks the store once and not for every rank.
Result<void> hand_round(Store& store, std::uint32_t size, Moment until) {
  Message all;
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    auto words = store.get(key(rank), Milliseconds(poll_time(until)));
    if (!words) return tl::unexpected(words.error());
    bool is_broken = false;
    const auto post = take_message(*words, is_broken);
    if (post) all.insert(all.end(), post->begin(), post->end());
  }
  return store.set(kAll, encode(all));
}

}  // namespace

Result<std::unique_ptr<Heart>> Heart::start(Settings settings, Store& store, Milliseconds timeout) {
  std::unique_ptr<Heart> heart(new Heart(std::move(settings)));
  PINSTEP_TRY(heart->meet(store, timeout));
  heart->thread_ = std::thread([raw = heart.get()] { raw->run(); });
  return heart;
}

Heart::~Heart() {
  is_over_ = true;
  if (thread_.joinable()) thread_.join();
}

Result<void> Heart::meet(Store& store, Milliseconds timeout) {
  const Moment until = Now::now() + timeout;
  auto listener = listen_on(0);
  if (!listener) return tl::unexpected(listener.error());
  listener_ = std::move(*listener);
  const auto port = port_of(listener_);
  if (!port) return tl::unexpected(port.error());
  PINSTEP_TRY(
      store.set(key(settings_.rank), encode({settings_.node, settings_.address, std::to_string(*port)})));
  if (settings_.rank == 0) PINSTEP_TRY(hand_round(store, settings_.size, until));
  const auto words = store.get(kAll, Milliseconds(poll_time(until)));
  if (!words) return tl::unexpected(words.error());
  const auto posts = parse_posts(*words, settings_.size);
  if (!posts) return fail(ErrorKind::network, "rank 0 gives a list of the ranks that is none");
  std::vector<std::string> nodes;
  for (const Post& post : *posts) nodes.push_back(post.node);
  host_ = {0, nodes[0]};
  const Neighbours neighbours = neighbours_of(settings_.rank, nodes);
  for (const auto* some : {&neighbours.next, &neighbours.previous})
    for (const std::uint32_t rank : *some)
      if (sight_of(rank) == nullptr) sights_.push_back({{rank, nodes[rank]}, {}, {}});
  for (const std::uint32_t rank : neighbours.next) {
    const Post& post = (*posts)[rank];
    auto socket = connect_to(post.host, post.port, "a neighbour", Now::now() + kConnectTime);
    if (socket) connections_.push_back({std::move(*socket), "", "", rank});
  }
  return {};
}

void Heart::run() {
  while (!is_over_) {
    beat();
    for (const Moment until = Now::now() + kInterval; Now::now() < until;) listen(until);
  }
}

void Heart::beat() {
  const auto age = std::chrono::duration_cast<Milliseconds>(Now::now() - settings_.store_answered());
  const std::string words =
      encode({settings_.cookie, std::to_string(settings_.rank), std::to_string(age.count())});
  for (Connection& to : connections_) {
    if (to.out.empty()) to.out = words;  // else the peer has not taken the last one
    const ssize_t sent = ::send(to.socket.get(), to.out.data(), to.out.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) to.out.erase(0, static_cast<std::size_t>(sent));
  }
}

void Heart::listen(Moment until) {
  std::vector<pollfd> watched{{listener_.get(), POLLIN, 0}};
  for (const Connection& connection : connections_) watched.push_back({connection.socket.get(), POLLIN, 0});
  if (::poll(watched.data(), watched.size(), poll_time(until)) <= 0) return;
  for (std::size_t i = 0; i < connections_.size(); ++i)
    if (watched[i + 1].revents != 0) receive(connections_[i]);
  std::erase_if(connections_, [](const Connection& connection) { return !connection.socket.valid(); });
  if (watched[0].revents != 0) accept();
}

void Heart::accept() {
  UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (socket.valid() && connections_.size() < kMostConnections)
    connections_.push_back({std::move(socket), "", "", std::nullopt});
}

void Heart::receive(Connection& from) {
  char chunk[4096];
  const ssize_t size = ::read(from.socket.get(), chunk, sizeof chunk);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) {
    if (size == 0 || errno == ECONNRESET) note_end(from);
    from.socket.reset();
    return;
  }
  from.in.append(chunk, static_cast<std::size_t>(size));
  bool is_broken = false;
  while (from.socket.valid()) {
    const auto message = take_message(from.in, is_broken);
    if (!message) break;
    note(from, *message);
  }
  if (is_broken) from.socket.reset();
}

void Heart::note(Connection& from, const Message& message) {
  const bool is_one = message.size() == 3 && message[0] == settings_.cookie;
  const auto rank = is_one ? parse_number<std::uint32_t>(message[1]) : std::nullopt;
  const auto age = is_one ? parse_number<std::uint32_t>(message[2]) : std::nullopt;
  const std::lock_guard lock(mutex_);
  Sight* sight = rank ? sight_of(*rank) : nullptr;
  if (sight == nullptr || !age) return from.socket.reset();
  from.rank = rank;
  sight->sign = Now::now();
  sight->answered = *sight->sign - Milliseconds(*age);
}

void Heart::note_end(const Connection& of) {
  const std::lock_guard lock(mutex_);
  if (Sight* sight = of.rank ? sight_of(*of.rank) : nullptr) sight->sign = Now::now();
}

Sight* Heart::sight_of(std::uint32_t rank) {
  const auto found =
      std::find_if(sights_.begin(), sights_.end(), [&](const Sight& sight) { return sight.seat.rank == rank; });
  return found == sights_.end() ? nullptr : &*found;
}

std::vector<Sight> Heart::sights() const {
  const std::lock_guard lock(mutex_);
  return sights_;
}

Verdict Heart::judge(Moment since) const {
  return judge_silence({settings_.rank, settings_.node}, host_, sights(), since);
}

}  // namespace pinstep::worker
