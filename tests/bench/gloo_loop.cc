// All-reduces on demand, by Gloo alone or through pinstep-worker's Transport: gloo_loop bare|transport COUNT,
// with RANK and so on in the environment. Says "ready", and then answers each number N on standard input: does
// N all-reduces of COUNT floats and prints {"seconds": of one, "sum": of the last result's elements}.
#include <gloo/allreduce.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/prefix_store.h>
#include <gloo/transport/tcp/device.h>

#include <chrono>
#include <functional>
#include <iostream>
#include <numeric>

#include "envtools/base/text.h"
#include "launcher/worker/cli/in_session.h"
#include "launcher/worker/try.h"

namespace pinstep::worker {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The store for a Gloo context that nothing of the worker is in.
class Words final : public gloo::rendezvous::Store {
 public:
  explicit Words(worker::Store& store) : store_(store) {}

  void set(const std::string& key, const std::vector<char>& data) override {
    (void)store_.set("bare/" + key, {data.data(), data.size()});
  }
  std::vector<char> get(const std::string& key) override {
    const std::string value = store_.get("bare/" + key, Milliseconds(60'000)).value_or("");
    return {value.begin(), value.end()};
  }
  void wait(const std::vector<std::string>& keys) override {
    for (const std::string& key : keys) get(key);
  }
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds&) override { wait(keys); }

 private:
  worker::Store& store_;
};

using Reduce = std::function<Result<void>(std::vector<float>& values)>;

Reduce bare(Session& session) {
  gloo::transport::tcp::attr where;
  where.hostname = "127.0.0.1";
  auto device = gloo::transport::tcp::CreateDevice(where);
  auto context = std::make_shared<gloo::rendezvous::Context>(static_cast<int>(session.place().rank),
                                                             static_cast<int>(session.place().size));
  Words words(*session.store());
  context->connectFullMesh(words, device);
  return [context, device, tag = 0U](std::vector<float>& values) mutable -> Result<void> {
    gloo::AllreduceOptions options(context);
    options.setAlgorithm(gloo::detail::AllreduceOptionsImpl::RING);
    options.setOutput(values.data(), values.size());
    using Plain = void (*)(void*, const void*, const void*, std::size_t);
    options.setReduceFunction(static_cast<Plain>(&gloo::sum<float>));
    options.setTag(tag++);
    gloo::allreduce(options);
    return {};
  };
}

Reduce by_transport(Session& session) {
  return [&session](std::vector<float>& values) {
    return session.transport().all_reduce({values.data(), values.size(), Type::f32}, Reduction::sum, Stream{});
  };
}

Result<void> serve(Session& session, const std::vector<std::string>& words) {
  std::vector<float> values(parse_number<std::size_t>(words[1]).value());
  Reduce reduce = words[0] == "bare" ? bare(session) : by_transport(session);
  print("ready\n");
  for (std::uint32_t count = 0; std::cin >> count;) {
    double seconds = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      for (std::size_t k = 0; k < values.size(); ++k)
        values[k] = static_cast<float>(k % 7 + session.place().rank);
      const double began = now();
      PINSTEP_TRY(reduce(values));
      seconds += now() - began;
    }
    print(
        json_line({{"seconds", seconds / count}, {"sum", std::accumulate(values.begin(), values.end(), 0.0)}}));
  }
  return {};
}

}  // namespace
}  // namespace pinstep::worker

int main(int argc, char** argv) {
  using namespace pinstep::worker;
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() != 2) return 2;
  run_in_session({}, Form::text, [&](Session& session, CpuDevice&) { return serve(session, words); });
}
