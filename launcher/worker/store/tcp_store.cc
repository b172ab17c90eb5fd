#include "launcher/worker/store/tcp_store.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "envtools/base/text.h"
#include "launcher/worker/store/sockets.h"
#include "launcher/worker/store/wire.h"

namespace pinstep::worker {
namespace {

using Now = std::chrono::steady_clock;

constexpr Milliseconds kBetweenTries{50};
constexpr Milliseconds kOneTry{5000};        // where somebody may say meanwhile that it is of no use
constexpr Milliseconds kLastTime{1000};      // for a rank that is stopped to find rank 0
constexpr Milliseconds kSlice{250};          // of what a key is waited for: then likewise
constexpr Milliseconds kAnswerTime{10'000};  // a request that waits for nobody
constexpr Milliseconds kGetTime{2000};       // beyond what a key is waited for, which the server minds

}  // namespace

Result<std::unique_ptr<TcpStore>> TcpStore::connect(const Meeting& meeting, const Member& member,
                                                    Milliseconds timeout, Stopped is_stopped) {
  auto until = Now::now() + timeout;
  auto store = std::make_unique<TcpStore>();
  store->is_stopped_ = std::move(is_stopped);
  store->answer_time_ = std::min(kAnswerTime, timeout);
  Result<UniqueFd> socket = fail(ErrorKind::invalid, "no address of rank 0 is known");
  for (std::size_t i = 0; !meeting.hosts.empty(); ++i) {
    const std::string& host = meeting.hosts[i % meeting.hosts.size()];
    store->server_ = shown_address(host, meeting.port);
    if (store->is_stopped_ && store->is_stopped_()) until = std::min(until, Now::now() + kLastTime);
    socket = connect_to(host, meeting.port, "rank 0",
                        store->is_stopped_ ? std::min(until, Now::now() + kOneTry) : until);
    if (socket || Now::now() >= until) break;
    ::poll(nullptr, 0, static_cast<int>(kBetweenTries.count()));
  }
  if (!socket)
    return fail(ErrorKind::timed_out,
                socket.error().cause + ", tried for " + std::to_string(timeout.count()) + " ms",
                "rank 0 must run on the node of MASTER_ADDR, and no firewall may close MASTER_PORT");
  store->socket_ = std::move(*socket);
  const int on = 1;
  ::setsockopt(store->socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  store->own_address_ = local_address(store->socket_);
  const auto answer = store->ask(
      {"hello", member.cookie, std::to_string(member.size), std::to_string(member.rank), member.node},
      store->answer_time_);
  if (!answer) return tl::unexpected(answer.error());
  if ((*answer)[0] != "ok")
    return fail(ErrorKind::refused, "rank 0 at '" + store->server_ + "' refuses rank " +
                                        std::to_string(member.rank) + ": " +
                                        (answer->size() > 1 ? printable((*answer)[1]) : ""));
  return store;
}

Result<Message> TcpStore::ask(const Message& request, Milliseconds timeout, Milliseconds patience) {
  const std::lock_guard lock(mutex_);
  return exchange(request, timeout, patience);
}

Result<Message> TcpStore::exchange(const Message& request, Milliseconds timeout, Milliseconds patience) {
  if (!trouble_) return tl::unexpected(trouble_.error());
  const Moment sent = Now::now();
  auto answer = send_and_receive(request, sent + patience + timeout);
  if (answer) {
    last_answer_ = Now::now();
  } else {
    trouble_ = tl::unexpected(answer.error());
    if (answer.error().kind == ErrorKind::timed_out) silent_since_ = sent + patience;
  }
  return answer;
}

std::optional<Moment> TcpStore::silent_since() {
  const std::lock_guard lock(mutex_);
  return silent_since_;
}

Result<Message> TcpStore::send_and_receive(const Message& request, Moment until) {
  const std::string server = "rank 0, which serves the store at '" + server_ + "', ";
  const auto silent = [&] { return fail(ErrorKind::timed_out, server + "does not answer"); };
  // Its end is told by its kernel; everything else is the network's.
  const auto gone = [&](bool is_end) {
    return is_end ? fail(ErrorKind::network, server + "is gone") : silent();
  };
  std::string out = encode(request);
  while (!out.empty()) {
    const ssize_t sent = ::send(socket_.get(), out.data(), out.size(), MSG_NOSIGNAL);
    if (sent > 0) out.erase(0, static_cast<std::size_t>(sent));
    if (sent >= 0 || errno == EINTR) continue;
    if (errno != EAGAIN) return gone(errno == ECONNRESET || errno == EPIPE);
    pollfd watched{socket_.get(), POLLOUT, 0};
    if (::poll(&watched, 1, poll_time(until)) == 0) return silent();
  }
  for (;;) {
    bool is_broken = false;
    if (auto answer = take_message(received_, is_broken); answer && !answer->empty()) return *answer;
    if (is_broken) return fail(ErrorKind::network, server + "gives an answer that is none");
    pollfd watched{socket_.get(), POLLIN, 0};
    if (::poll(&watched, 1, poll_time(until)) == 0) return silent();
    char chunk[65536];
    const ssize_t size = ::read(socket_.get(), chunk, sizeof chunk);
    if (size > 0) received_.append(chunk, static_cast<std::size_t>(size));
    if (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR))
      return gone(size == 0 || errno == ECONNRESET);
  }
}

Result<void> TcpStore::set(const std::string& key, std::string_view value) {
  const auto answer = ask({"set", key, std::string(value)}, answer_time_);
  if (!answer) return tl::unexpected(answer.error());
  return {};
}

Result<std::string> TcpStore::get(const std::string& key, Milliseconds timeout) {
  const Moment until = Now::now() + timeout;
  for (;;) {
    const auto left = std::max(Milliseconds(0), std::chrono::ceil<Milliseconds>(until - Now::now()));
    const bool is_last = !is_stopped_ || left <= kSlice;
    const Milliseconds slice = is_last ? left : kSlice;
    auto answer = ask({"get", key, std::to_string(slice.count())}, is_last ? kGetTime : answer_time_, slice);
    if (!answer) return tl::unexpected(answer.error());
    answer->resize(2);
    if ((*answer)[0] == "ok") return (*answer)[1];
    if ((*answer)[0] == "hopeless") return fail(ErrorKind::network, (*answer)[1]);
    if (!is_last && !is_stopped_()) continue;
    const std::string who = (*answer)[1].empty() ? "nobody set '" + key + "'" : (*answer)[1];
    return fail(ErrorKind::timed_out, who + " within " + std::to_string(timeout.count()) + " ms");
  }
}

Result<void> TcpStore::report(const std::optional<std::string>& own_error, Milliseconds timeout) {
  Message request{"report"};
  if (own_error) request.push_back(*own_error);
  const auto answer = ask(request, timeout);
  if (!answer) return tl::unexpected(answer.error());
  return {};
}

bool TcpStore::tell_progress(std::uint64_t reached, Milliseconds timeout) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return true;
  if (!trouble_) return false;
  const auto answer = exchange({"progress", std::to_string(reached)}, timeout, Milliseconds(0));
  return answer && answer->front() == "ok";
}

Verdict TcpStore::verdict(Milliseconds timeout) {
  const auto answer = ask({"verdict"}, timeout);
  if (!answer)
    return {answer.error().kind == ErrorKind::timed_out ? Verdict::Kind::silent : Verdict::Kind::gone,
            {0},
            answer.error().cause};
  Verdict verdict;
  if (answer->size() != 4) return verdict;
  verdict.kind = parse_verdict_kind((*answer)[1]).value_or(Verdict::Kind::unknown);
  for (const std::string_view rank : split((*answer)[2], ','))
    if (const auto number = parse_number<std::uint32_t>(rank)) verdict.ranks.push_back(*number);
  verdict.text = printable((*answer)[3]);
  return verdict;
}

Result<bool> TcpStore::claim(const std::string& words, Milliseconds timeout) {
  const auto answer = ask({"claim", words}, timeout);
  if (!answer) return tl::unexpected(answer.error());
  return answer->front() == "ok";
}

void TcpStore::bye() { (void)ask({"bye"}, answer_time_); }

}  // namespace pinstep::worker
