#include "launcher/worker/transport/gloo.h"

#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/transport/tcp/device.h>

#include <functional>
#include <optional>

#include "launcher/worker/try.h"

namespace pinstep::worker {
namespace {

using Func = gloo::AllreduceOptions::Func;

// What the store needs longer than it was told to wait for a key: it says who did not come.
constexpr Milliseconds kStoreTime{2500};

// Our store as Gloo asks for it. Gloo knows exceptions only: an error of ours goes through it as one and is
// kept here, to be told as it was.
class GlooStore final : public gloo::rendezvous::Store {
 public:
  // `poll`: an error where nobody waits for this any more.
  GlooStore(worker::Store& store, std::string keys, Milliseconds timeout, std::function<Result<void>()> poll)
      : store_(store), keys_(std::move(keys)), timeout_(timeout), poll_(std::move(poll)) {}

  void set(const std::string& key, const std::vector<char>& data) override {
    check(poll_());
    check(store_.set(keys_ + key, {data.data(), data.size()}));
  }
  std::vector<char> get(const std::string& key) override {
    check(poll_());
    const auto value = store_.get(keys_ + key, timeout_);
    check(value);
    return {value->begin(), value->end()};
  }
  void wait(const std::vector<std::string>& keys) override { wait(keys, timeout_); }
  // Gloo's time-out is that of later operations; starting has one of its own.
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds&) override {
    for (const std::string& key : keys) (void)get(key);
  }

  const std::optional<Error>& error() const { return error_; }

 private:
  template <class T>
  void check(const Result<T>& result) {
    if (result) return;
    error_ = result.error();
    throw std::runtime_error(error_->cause);
  }

  worker::Store& store_;
  const std::string keys_;
  const Milliseconds timeout_;
  const std::function<Result<void>()> poll_;
  std::optional<Error> error_;
};

template <class T>
Func function(Reduction reduction) {
  using Plain = void (*)(void*, const void*, const void*, std::size_t);
  switch (reduction) {
    case Reduction::sum:
      return static_cast<Plain>(&gloo::sum<T>);
    case Reduction::minimum:
      return static_cast<Plain>(&gloo::min<T>);
    case Reduction::maximum:
      return static_cast<Plain>(&gloo::max<T>);
  }
  return {};
}

// Empty for a type that the CPU does not add.
Func function(Type type, Reduction reduction) {
  switch (type) {
    case Type::f32:
      return function<float>(reduction);
    case Type::f64:
      return function<double>(reduction);
    case Type::i32:
      return function<std::int32_t>(reduction);
    case Type::i64:
      return function<std::int64_t>(reduction);
    case Type::u8:
      return function<std::uint8_t>(reduction);
    case Type::bf16:
      break;
  }
  return {};
}

// Gloo's text without the place in its sources in front.
std::string words_of(const std::exception& exception) {
  const std::string text = exception.what();
  const std::size_t end = text.starts_with('[') ? text.find("] ") : std::string::npos;
  return end == std::string::npos ? text : text.substr(end + 2);
}

template <class Options>
void set_output(Options& options, Array array) {
  // The element's size is all that Gloo wants to know of the type.
  switch (size_of(array.type)) {
    case 8:
      return options.setOutput(static_cast<std::uint64_t*>(array.data), array.count);
    case 4:
      return options.setOutput(static_cast<std::uint32_t*>(array.data), array.count);
    default:
      return options.setOutput(static_cast<std::uint8_t*>(array.data), array.bytes());
  }
}

tl::unexpected<Error> cannot_connect(const GlooSettings& settings, const std::exception& exception) {
  const std::string from = settings.interface.empty() ? settings.address : settings.interface;
  return fail(ErrorKind::network,
              "cannot connect to the other ranks from '" + from + "': " + words_of(exception),
              "GLOO_SOCKET_IFNAME names the network interface to use");
}

}  // namespace

GlooTransport::GlooTransport(const GlooSettings& settings, Device& device)
    : settings_(settings), device_(device), limit_(settings.deadline) {}

GlooTransport::~GlooTransport() = default;

template <class Operation>
Result<void> GlooTransport::run(const char* name, std::size_t bytes, Stream stream, Operation operation) {
  if (auto done = device_.synchronize(stream); !done) return done;
  if (auto healthy = poll(); !healthy) return healthy;
  const auto what = [&] {
    return std::string(name) + " " + std::to_string(number_) + " of " + std::to_string(bytes) + " bytes ";
  };
  const auto began = std::chrono::steady_clock::now();
  ++number_;
  try {
    operation();
  } catch (const std::exception& exception) {
    const bool is_late = std::chrono::steady_clock::now() - began >= limit_;
    const std::lock_guard lock(mutex_);
    if (error_ && is_late)
      error_ =
          fail(ErrorKind::timed_out, what() + "did not end within " + std::to_string(limit_.count()) + " ms");
    else if (error_)
      error_ = fail(ErrorKind::network, what() + "failed: " + words_of(exception));
  }
  return poll();
}

Result<void> GlooTransport::all_reduce(Array data, Reduction reduction, Stream stream) {
  const Func reduce = function(data.type, reduction);
  if (!reduce) return fail(ErrorKind::invalid, "no reduction of bf16 in host memory");
  return run("all-reduce", data.bytes(), stream, [&] {
    gloo::AllreduceOptions options(context_);
    options.setAlgorithm(gloo::detail::AllreduceOptionsImpl::RING);  // one order of additions, for good
    set_output(options, data);
    options.setReduceFunction(reduce);
    options.setTag(number_);
    gloo::allreduce(options);
  });
}

Result<void> GlooTransport::broadcast(Array data, std::uint32_t root, Stream stream) {
  if (root >= size()) return fail(ErrorKind::invalid, "no rank " + std::to_string(root));
  return run("broadcast", data.bytes(), stream, [&] {
    gloo::BroadcastOptions options(context_);
    set_output(options, data);
    options.setRoot(static_cast<int>(root));
    options.setTag(number_);
    gloo::broadcast(options);
  });
}

Result<void> GlooTransport::all_gather(Array mine, Array all, Stream stream) {
  if (all.type != mine.type || all.count != mine.count * size())
    return fail(ErrorKind::invalid, "an array that does not fit what all ranks have");
  return run("all-gather", mine.bytes(), stream, [&] {
    gloo::AllgatherOptions options(context_);
    options.setInput(static_cast<std::uint8_t*>(mine.data), mine.bytes());
    options.setOutput(static_cast<std::uint8_t*>(all.data), all.bytes());
    options.setTag(number_);
    gloo::allgather(options);
  });
}

Result<void> GlooTransport::exchange(Noted noted, Stream stream) {
  if (noted.peer >= size() || noted.peer == rank())
    return fail(ErrorKind::invalid, "no other rank " + std::to_string(noted.peer));
  if (auto done = device_.synchronize(stream); !done) return done;
  noted_.push_back(noted);
  return is_in_group_ ? Result<void>() : end_group();
}

Result<void> GlooTransport::end_group() {
  is_in_group_ = false;
  const auto noted = std::exchange(noted_, {});
  std::size_t bytes = 0;
  for (const Noted& one : noted) bytes += one.array.bytes();
  return noted.empty() ? poll() : run("send and receive", bytes, Stream{}, [&] { exchange_all(noted); });
}

// Gloo keeps the arrays that two ranks exchange under one slot in order.
void GlooTransport::exchange_all(const std::vector<Noted>& noted) {
  constexpr std::uint64_t kSlot = 1;  // collectives have a number in their slots' first byte
  std::vector<std::unique_ptr<gloo::transport::UnboundBuffer>> buffers;
  for (const Noted& one : noted) {
    auto& buffer = buffers.emplace_back(context_->createUnboundBuffer(one.array.data, one.array.bytes()));
    if (one.is_send)
      buffer->send(static_cast<int>(one.peer), kSlot);
    else
      buffer->recv(static_cast<int>(one.peer), kSlot);
  }
  for (std::size_t i = 0; i < noted.size(); ++i)
    noted[i].is_send ? buffers[i]->waitSend(limit_) : buffers[i]->waitRecv(limit_);
}

void GlooTransport::abort() noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (error_) error_ = fail(ErrorKind::network, "this rank has given up");
    changed_.notify_all();
    if (!is_connected_) return;
  }
  try {
    context_->closeConnections();
  } catch (const std::exception&) {
    // What cannot be closed is closed already.
  }
}

Result<void> GlooTransport::poll() {
  const std::lock_guard lock(mutex_);
  return error_;
}

Result<std::unique_ptr<GlooTransport>> GlooTransport::create(const GlooSettings& settings, Device& device) {
  std::unique_ptr<GlooTransport> transport(new GlooTransport(settings, device));
  try {
    gloo::transport::tcp::attr where;
    where.iface = settings.interface;
    if (settings.interface.empty()) where.hostname = settings.address;
    transport->network_ = gloo::transport::tcp::CreateDevice(where);
    transport->context_ = std::make_shared<gloo::rendezvous::Context>(static_cast<int>(settings.rank),
                                                                      static_cast<int>(settings.size));
    transport->context_->setTimeout(settings.deadline);
    return transport;
  } catch (const std::exception& exception) {
    return cannot_connect(settings, exception);
  }
}

Result<void> GlooTransport::connect(Store& store) {
  // Gloo tries to reach a rank that has died as often as five times the time it is given, and cannot be
  // stopped.
  connecting_ = std::async(std::launch::async, [this, &store] {
    auto met = connect_mesh(store);
    const std::lock_guard lock(mutex_);
    met_ = std::move(met);
    changed_.notify_all();
  });
  std::unique_lock lock(mutex_);
  const bool is_over = changed_.wait_for(lock, settings_.connect_time + kStoreTime,
                                         [this] { return met_.has_value() || !error_; });
  if (!error_) return error_;
  if (!is_over)
    error_ = fail(ErrorKind::timed_out, "did not connect to all ranks within " +
                                            std::to_string(settings_.connect_time.count()) + " ms");
  else
    is_connected_ = met_->has_value();
  return is_over ? *met_ : error_;
}

Result<void> GlooTransport::connect_mesh(Store& store) {
  GlooStore words(store, settings_.keys, settings_.connect_time, [this] { return poll(); });
  try {
    context_->connectFullMesh(words, network_);
  } catch (const std::exception& exception) {
    return words.error() ? tl::unexpected(*words.error()) : cannot_connect(settings_, exception);
  }
  // Others may still be accepting. When this is done, they are not.
  set_limit(settings_.connect_time);
  std::uint8_t nothing = 0;
  PINSTEP_TRY(all_reduce({&nothing, 1, Type::u8}, Reduction::sum, Stream{}));
  set_limit(settings_.deadline);
  return {};
}

void GlooTransport::set_limit(Milliseconds limit) {
  limit_ = limit;
  context_->setTimeout(limit);
}

}  // namespace pinstep::worker
