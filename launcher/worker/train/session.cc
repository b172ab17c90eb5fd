#include "launcher/worker/train/session.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <future>

#include "envtools/base/fd.h"
#include "launcher/rendezvous/addresses.h"
#include "launcher/worker/store/pmix.h"
#include "launcher/worker/train/interrupt.h"
#include "launcher/worker/transport/threads.h"
#include "launcher/worker/try.h"

namespace pinstep::worker {
namespace {

// How long ranks may still report after the first did: the time in which a healthy one notices that another
// gave up, and no more than a user likes to wait for a message.
constexpr Milliseconds kGrace{1500};
// How long rank 0 answers the others after it has failed itself.
constexpr Milliseconds kLinger{2000};
// The same for those that are heard: longer than a watchdog gives a rank that cannot end its collective.
constexpr Milliseconds kLingerForHeard{4500};
// Where a rank that is told to stop leaves word for the others: the signal's name.
constexpr const char* kStopped = "session/stopped";
// For the flight record: the file system may be what has failed.
constexpr Milliseconds kRecordTime{500};

// Those that others have caused, or share.
bool is_shared(const Error& error) {
  return error.kind == ErrorKind::network || error.kind == ErrorKind::timed_out;
}

Outcome outcome_of(const Verdict& verdict, std::uint32_t own) {
  const bool is_own = std::find(verdict.ranks.begin(), verdict.ranks.end(), own) != verdict.ranks.end();
  switch (verdict.kind) {
    case Verdict::Kind::unknown:
      return Outcome::peers_unclear;
    case Verdict::Kind::cut_off:
      return is_own ? Outcome::cut_off : Outcome::peer_lost;
    default:
      return is_own ? Outcome::stuck : Outcome::peer_lost;
  }
}

}  // namespace

Session::~Session() = default;

Result<void> Session::open(const Environment& environment) {
  auto done = connect(environment);
  is_open_ = done.has_value();
  return done;
}

Result<void> Session::connect(const Environment& environment) {
  PINSTEP_TRY(meet(environment));
  if (place_.size == 1) {
    transport_ = std::make_unique<RecordedTransport>(alone(), record_);
    return {};
  }
  auto heart = Heart::start({place_.cookie, place_.rank, place_.size, settings_.node, address(),
                             [this] { return store_->last_answer(); }},
                            *store_, settings_.start_time);
  if (!heart) return tl::unexpected(heart.error());
  heart_ = std::move(*heart);
  auto all = gloo(place_.size, "gloo/");
  if (!all) return tl::unexpected(all.error());
  GlooTransport& connecting = **all;
  transport_ = std::make_unique<RecordedTransport>(std::move(*all), record_);
  watch();  // from here on: a rank may die while the others connect to it
  return connecting.connect(*store_);
}

void Session::watch() {
  watchdog_ = std::make_unique<Watchdog>(
      *store_, settings_.deadline,
      Watchdog::Calls{[this] { return record_.begun(); }, [this] { abort_all(); }, [this] { end_hanging(); }});
}

void Session::abort_all() noexcept {
  if (transport_) transport_->abort();
  const std::lock_guard lock(groups_mutex_);
  for (const auto& [count, group] : groups_)
    if (group) group->abort();
}

void Session::write_record() {
  if (settings_.log.empty()) return;
  const auto written = std::make_shared<std::promise<void>>();
  std::thread([this, written] {
    (void)record_.write(settings_.log, place_.rank);
    written->set_value();
  }).detach();
  written->get_future().wait_for(kRecordTime);
}

// From the watchdog, where the rank's own thread does not come back. In a collective it is not to blame for
// that: Gloo does not always let go of one whose connections are closed.
void Session::end_hanging() {
  write_record();
  const std::string own = "rank " + std::to_string(place_.rank), last = std::to_string(record_.begun());
  Verdict blamed{Verdict::Kind::stuck,
                 {place_.rank},
                 own + " hangs: other ranks waited for it after its collective " + last + " and have given up"};
  if (record_.is_inside()) {
    (void)store_->report(std::nullopt, kGrace);
    blamed = verdict();
    blamed.text += " (" + own + ": its collective " + last + " cannot be ended)";
  }
  write_message(STDERR_FILENO, "pinstep-worker: error: " + blamed.text + "\n");
  if (server_) server_->linger(kLinger, TcpStoreServer::Whom::others);
  std::_Exit(static_cast<int>(outcome_of(blamed, place_.rank)));
}

Result<void> Session::meet(const Environment& environment) {
  PINSTEP_TRY(find_place(environment));
  if (place_.size == 1) return {};
  auto store = TcpStore::connect(
      *place_.meeting, {place_.cookie, place_.size, place_.rank, settings_.node}, settings_.start_time,
      settings_.told_to_stop ? [this] { return settings_.told_to_stop() != 0; } : TcpStore::Stopped());
  if (!store) return tl::unexpected(store.error());
  store_ = std::move(*store);
  return {};
}

Result<void> Session::find_place(const Environment& environment) {
  const bool uses_pmix = settings_.store == StoreKind::pmix ||
                         (settings_.store == StoreKind::automatic && prefers_pmix(environment));
  if (!uses_pmix) {
    auto place = place_from_environment(environment);
    if (!place) return tl::unexpected(place.error());
    place_ = std::move(*place);
    if (place_.rank == 0 && place_.meeting) return serve(place_.meeting->port, place_.size);
    return {};
  }
  place_.cookie = cookie_of(environment);
  auto place = meet_by_pmix(place_.cookie, [this](std::uint32_t size) -> Result<Meeting> {
    PINSTEP_TRY(serve(0, size));
    SystemNameService names;
    Meeting meeting{own_addresses(settings_.node, names), server_->port()};
    if (meeting.hosts.empty()) meeting.hosts.emplace_back("127.0.0.1");
    return meeting;
  });
  if (!place) return tl::unexpected(place.error());
  place_ = std::move(*place);
  return {};
}

Result<void> Session::serve(std::uint16_t port, std::uint32_t size) {
  auto server = TcpStoreServer::start(port, {place_.cookie, size, kGrace});
  if (!server) return tl::unexpected(server.error());
  server_ = std::move(*server);
  return {};
}

std::unique_ptr<Transport> Session::alone() {
  return std::make_unique<ThreadTransport>(std::make_shared<ThreadGroup>(1, settings_.deadline), 0, device_);
}

Result<std::unique_ptr<GlooTransport>> Session::gloo(std::uint32_t size, const std::string& keys) {
  return GlooTransport::create(
      {place_.rank, size, address(), settings_.interface, settings_.start_time, settings_.deadline, keys},
      device_);
}

Result<Transport*> Session::group(std::uint32_t count) {
  std::unique_lock lock(groups_mutex_);
  auto& transport = groups_[count];
  if (transport) return transport.get();
  if (count == 1) {
    transport = alone();
    return transport.get();
  }
  auto made = gloo(count, "gloo-" + std::to_string(count) + "/");
  if (!made) return tl::unexpected(made.error());
  GlooTransport& connecting = **made;
  transport = std::move(*made);
  lock.unlock();  // the watchdog may abort it
  PINSTEP_TRY(connecting.connect(*store_));
  return &connecting;
}

// The one by which this node reaches rank 0's. On that node itself it may be the loopback's, which is of no use
// to others.
std::string Session::address() const {
  if (place_.size == place_.local_size || !is_loopback(store_->own_address())) return store_->own_address();
  SystemNameService names;
  const auto addresses = own_addresses(settings_.node, names);
  return addresses.empty() ? store_->own_address() : addresses.front();
}

std::string Session::stopped_by() {
  if (is_open_ || !settings_.told_to_stop) return "";
  if (const int signal = settings_.told_to_stop(); signal != 0) return std::string(signal_name(signal));
  return store_ ? store_->get(kStopped, Milliseconds(0)).value_or("") : "";
}

// Nobody has failed: those that came are told, and those that come while rank 0 is still here.
Ending Session::leave(const std::string& signal) {
  const std::string words = "stopped by " + signal + " before all ranks had come: nothing is trained";
  if (store_) {
    (void)store_->set(kStopped, signal);
    (void)store_->report(words, kGrace);  // so that nobody waits for those that leave
  }
  Ending ending{Outcome::stopped, {ErrorKind::timed_out, words, {}}, {}, is_to_be_said(words, {})};
  if (store_) store_->bye();
  if (server_) server_->linger(kLinger, TcpStoreServer::Whom::all);
  return ending;
}

Ending Session::give_up(const Error& error) {
  if (const std::string signal = stopped_by(); !signal.empty()) {
    if (watchdog_) watchdog_->stop();
    abort_all();
    return leave(signal);
  }
  Ending ending{error.kind == ErrorKind::usage ? Outcome::usage : Outcome::failed, error, {}, true};
  const bool shared = is_shared(error);
  std::string what = error.cause;
  if (watchdog_) watchdog_->stop();
  abort_all();
  write_record();
  if (store_) {
    if (watchdog_) (void)store_->tell_progress(record_.begun(), kGrace);
    (void)store_->report(shared ? std::nullopt : std::optional(error.cause), kGrace);
    if (shared) {
      const Verdict verdict = this->verdict();
      what = verdict.text;
      ending.ranks = verdict.ranks;
      ending.error.cause = verdict.text + " (rank " + std::to_string(place_.rank) + ": " + error.cause + ")";
      if (verdict.kind == Verdict::Kind::failed) ending.error.hint = "see that rank's own message";
      ending.outcome = outcome_of(verdict, place_.rank);
    }
  } else if (shared) {  // rank 0 was not found
    ending.outcome = Outcome::peer_lost;
    ending.ranks = {0};
  }
  ending.is_to_be_said = is_to_be_said(what, ending.ranks);
  if (store_) store_->bye();
  // Who comes only now is to hear it, too.
  if (server_) server_->linger(kLinger, TcpStoreServer::Whom::all, kLingerForHeard);
  return ending;
}

// Of the store, which all ranks share; where it is silent, of what this one hears of its neighbours.
Verdict Session::verdict() {
  Verdict verdict = store_->verdict(kGrace + kLinger);
  const auto since = heart_ ? store_->silent_since() : std::nullopt;
  return since ? heart_->judge(*since) : verdict;
}

// Once by each node: by the first rank that asks the store. Where it does not answer any more, by the node's
// first rank, or the next one where that may be the one to blame.
bool Session::is_to_be_said(const std::string& words, const std::vector<std::uint32_t>& blamed) {
  const auto first =
      store_ ? store_->claim(settings_.node + ": " + words, kGrace) : fail(ErrorKind::network, "");
  if (first) return *first;
  const bool first_is_blamed = std::find(blamed.begin(), blamed.end(), place_.rank - 1) != blamed.end();
  return blamed.empty() || place_.local_rank == 0 || (place_.local_rank == 1 && first_is_blamed);
}

void Session::close() {
  if (watchdog_) watchdog_->stop();
  if (store_) store_->bye();
  if (server_) server_->linger(settings_.deadline);
}

}  // namespace pinstep::worker
