#include "launcher/worker/device/cpu_convolution.h"

#include "launcher/worker/device/cpu_kernels.h"
#include "launcher/worker/device/kernels.h"

#ifdef PINSTEP_WITH_ONEDNN
#include <dnnl.hpp>
#include <map>
#include <mutex>
#include <tuple>

#include "launcher/worker/device/cpu_arguments.h"

// OpenMP's, in which Debian's oneDNN runs; omp.h belongs to the compiler and not every one has it.
extern "C" void omp_set_num_threads(int threads);
#endif

namespace pinstep::worker {

bool CpuConvolutions::has(std::string_view kernel) {
  return kernel == kernel::kConvolution || kernel == kernel::kConvolutionGradient ||
         kernel == kernel::kConvolutionSlope;
}

#ifndef PINSTEP_WITH_ONEDNN

struct CpuConvolutions::State {};

CpuConvolutions::CpuConvolutions() = default;
CpuConvolutions::~CpuConvolutions() = default;
bool CpuConvolutions::are_there() { return false; }
void CpuConvolutions::use_threads(unsigned) {}
std::size_t cpu_lanes(std::size_t) { return 1; }

Result<void> CpuConvolutions::launch(Stream, std::string_view, std::size_t, std::span<const Argument>) {
  return fail(ErrorKind::unsupported, "this pinstep-worker was built without oneDNN and has no convolutions",
              "libdnnl-dev, then ./configure && make");
}

#else

namespace {

using dnnl::memory;
using Tag = memory::format_tag;

struct Shape {
  std::uint32_t rows, columns, channels, outputs, window;
  auto operator<=>(const Shape&) const = default;
};

enum class Pass { forward, weights, inputs };

memory::desc plain(const memory::dims& sizes, Tag tag) { return {sizes, memory::data_type::f32, tag}; }

memory::desc images(std::size_t count, std::size_t channels, const Shape& s) {
  const std::size_t lanes = cpu_lanes(channels);
  return plain({static_cast<memory::dim>(count), static_cast<memory::dim>(channels), s.rows, s.columns},
               lanes == 16  ? Tag::nChw16c
               : lanes == 8 ? Tag::nChw8c
                            : Tag::nchw);
}

// What oneDNN needs to know of one convolution, whichever pass.
struct Described {
  memory::desc x, y, weights, any_weights, bias;
  memory::dims strides{1, 1}, padding;
  dnnl::primitive_attr attributes;

  Described(std::size_t count, const Shape& s)
      : x(images(count, s.channels, s)),
        y(images(count, s.outputs, s)),
        weights(plain({s.outputs, s.channels, s.window, s.window}, Tag::oihw)),
        any_weights(plain({s.outputs, s.channels, s.window, s.window}, Tag::any)),
        bias(plain({s.outputs}, Tag::x)),
        padding{s.window / 2, s.window / 2} {
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  }

  dnnl::convolution_forward::primitive_desc forward(const dnnl::engine& engine, bool with_relu) const {
    dnnl::primitive_attr with = attributes;
    if (with_relu) {
      dnnl::post_ops after;
      after.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0);
      with.set_post_ops(after);
    }
    return {{dnnl::prop_kind::forward_training, dnnl::algorithm::convolution_direct, x, any_weights, bias, y,
             strides, padding, padding},
            with,
            engine};
  }
  dnnl::convolution_backward_weights::primitive_desc of_weights(const dnnl::engine& engine) const {
    return {{dnnl::algorithm::convolution_direct, x, any_weights, bias, y, strides, padding, padding},
            attributes,
            engine,
            forward(engine, false)};
  }
  dnnl::convolution_backward_data::primitive_desc of_inputs(const dnnl::engine& engine) const {
    return {{dnnl::algorithm::convolution_direct, x, any_weights, y, strides, padding, padding},
            attributes,
            engine,
            forward(engine, false)};
  }
};

// One pass of one convolution, ready to run.
struct Prepared {
  dnnl::primitive primitive;
  memory x, y, plain_weights, weights, plain_bias, bias, scratch;
  dnnl::reorder reorder, adding_reorder;  // of the weights: to oneDNN's order, or from it
};

Prepared prepare(Pass pass, std::size_t count, const Shape& shape, const dnnl::engine& engine) {
  const Described described(count, shape);
  Prepared p;
  const auto borrow = [&](const memory::desc& what) { return memory(what, engine, nullptr); };
  memory::desc weights, scratch;
  const auto take = [&](const auto& of, const memory::desc& own_weights) {
    weights = own_weights, scratch = of.scratchpad_desc();
  };
  if (pass == Pass::forward) {
    const auto of = described.forward(engine, true);
    take(of, of.weights_desc()), p.primitive = dnnl::convolution_forward(of);
  } else if (pass == Pass::weights) {
    const auto of = described.of_weights(engine);
    take(of, of.diff_weights_desc()), p.primitive = dnnl::convolution_backward_weights(of);
  } else {
    const auto of = described.of_inputs(engine);
    take(of, of.weights_desc()), p.primitive = dnnl::convolution_backward_data(of);
  }
  p.x = borrow(described.x), p.y = borrow(described.y);
  p.plain_weights = borrow(described.weights), p.plain_bias = borrow(described.bias);
  p.weights = memory(weights, engine), p.bias = memory(described.bias, engine),
  p.scratch = memory(scratch, engine);
  if (pass != Pass::weights) {
    p.reorder = dnnl::reorder(p.plain_weights, p.weights);
  } else {
    p.reorder = dnnl::reorder(p.weights, p.plain_weights);
    dnnl::post_ops after;
    after.append_sum(1);
    dnnl::primitive_attr adding;
    adding.set_post_ops(after);
    p.adding_reorder =
        dnnl::reorder(dnnl::reorder::primitive_desc(engine, weights, engine, described.weights, adding));
  }
  return p;
}

void* handle(const void* data) { return const_cast<void*>(data); }  // oneDNN has no read-only memory

bool fits(const Shape& s, std::size_t count, std::size_t x, std::size_t y, std::size_t weights) {
  const std::size_t pixels = std::size_t{s.rows} * s.columns * count;
  return s.window % 2 == 1 && x >= pixels * s.channels && y >= pixels * s.outputs &&
         weights >= std::size_t{s.outputs} * s.channels * s.window * s.window;
}

}  // namespace

struct CpuConvolutions::State {
  using Key = std::tuple<std::uint64_t, Pass, std::size_t, Shape>;

  const dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  std::mutex mutex;  // guards the map; what is in it belongs to the stream
  std::map<Key, Prepared> prepared;

  Prepared& of(Stream stream, Pass pass, std::size_t count, const Shape& shape) {
    const std::lock_guard lock(mutex);
    const Key key{stream.handle, pass, count, shape};
    auto found = prepared.find(key);
    if (found == prepared.end()) found = prepared.emplace(key, prepare(pass, count, shape, engine)).first;
    return found->second;
  }

  bool forward(Stream stream, std::size_t count, In<float> x, In<float> weights, In<float> bias, Out<float> y,
               const Shape& shape) {
    if (!fits(shape, count, x.count, y.count, weights.count) || bias.count < shape.outputs) return false;
    Prepared& p = of(stream, Pass::forward, count, shape);
    dnnl::stream queue(engine);
    p.x.set_data_handle(handle(x.data)), p.y.set_data_handle(y.data);
    p.plain_weights.set_data_handle(handle(weights.data)), p.plain_bias.set_data_handle(handle(bias.data));
    p.reorder.execute(queue, p.plain_weights, p.weights);
    p.primitive.execute(queue, {{DNNL_ARG_SRC, p.x},
                                {DNNL_ARG_WEIGHTS, p.weights},
                                {DNNL_ARG_BIAS, p.plain_bias},
                                {DNNL_ARG_DST, p.y},
                                {DNNL_ARG_SCRATCHPAD, p.scratch}});
    queue.wait();
    return true;
  }

  bool of_weights(Stream stream, std::size_t count, In<float> x, In<float> gradient, InOut<float> weights,
                  InOut<float> bias, const Shape& shape, float beta) {
    if (!fits(shape, count, x.count, gradient.count, weights.count) || bias.count < shape.outputs ||
        (beta != 0 && beta != 1))
      return false;
    Prepared& p = of(stream, Pass::weights, count, shape);
    dnnl::stream queue(engine);
    p.x.set_data_handle(handle(x.data)), p.y.set_data_handle(handle(gradient.data));
    p.plain_weights.set_data_handle(weights.data);
    p.primitive.execute(queue, {{DNNL_ARG_SRC, p.x},
                                {DNNL_ARG_DIFF_DST, p.y},
                                {DNNL_ARG_DIFF_WEIGHTS, p.weights},
                                {DNNL_ARG_DIFF_BIAS, p.bias},
                                {DNNL_ARG_SCRATCHPAD, p.scratch}});
    (beta == 0 ? p.reorder : p.adding_reorder).execute(queue, p.weights, p.plain_weights);
    queue.wait();
    const auto* sums = static_cast<const float*>(p.bias.get_data_handle());
    for (std::size_t i = 0; i < shape.outputs; ++i) bias[i] = (beta == 0 ? 0 : bias[i]) + sums[i];
    return true;
  }

  bool of_inputs(Stream stream, std::size_t count, In<float> gradient, In<float> weights, Out<float> slope,
                 const Shape& shape) {
    if (!fits(shape, count, slope.count, gradient.count, weights.count)) return false;
    Prepared& p = of(stream, Pass::inputs, count, shape);
    dnnl::stream queue(engine);
    p.x.set_data_handle(slope.data), p.y.set_data_handle(handle(gradient.data));
    p.plain_weights.set_data_handle(handle(weights.data));
    p.reorder.execute(queue, p.plain_weights, p.weights);
    p.primitive.execute(queue, {{DNNL_ARG_DIFF_SRC, p.x},
                                {DNNL_ARG_WEIGHTS, p.weights},
                                {DNNL_ARG_DIFF_DST, p.y},
                                {DNNL_ARG_SCRATCHPAD, p.scratch}});
    queue.wait();
    return true;
  }

  bool run(Stream stream, std::string_view kernel, std::size_t count, std::span<const Argument> arguments) {
    using U = std::uint32_t;
    using FloatIn = In<float>;
    if (kernel == kernel::kConvolution)
      return call_with<FloatIn, FloatIn, FloatIn, Out<float>, U, U, U, U, U>(
          arguments, [&](auto x, auto weights, auto bias, auto y, U h, U w, U c, U o, U window) {
            return forward(stream, count, x, weights, bias, y, {h, w, c, o, window});
          });
    if (kernel == kernel::kConvolutionGradient)
      return call_with<FloatIn, FloatIn, InOut<float>, InOut<float>, U, U, U, U, U, float>(
          arguments,
          [&](auto x, auto gradient, auto weights, auto bias, U h, U w, U c, U o, U window, float beta) {
            return of_weights(stream, count, x, gradient, weights, bias, {h, w, c, o, window}, beta);
          });
    return call_with<FloatIn, FloatIn, Out<float>, U, U, U, U, U>(
        arguments, [&](auto gradient, auto weights, auto slope, U h, U w, U c, U o, U window) {
          return of_inputs(stream, count, gradient, weights, slope, {h, w, c, o, window});
        });
  }
};

CpuConvolutions::CpuConvolutions() = default;
CpuConvolutions::~CpuConvolutions() = default;
bool CpuConvolutions::are_there() { return true; }

void CpuConvolutions::use_threads(unsigned threads) {
  if (threads > 0) omp_set_num_threads(static_cast<int>(threads));
}

std::size_t cpu_lanes(std::size_t channels) {
#ifdef __x86_64__
  static const std::size_t lanes =
      (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) &
       static_cast<unsigned>(dnnl::cpu_isa::avx512_core)) == static_cast<unsigned>(dnnl::cpu_isa::avx512_core)
          ? 16
          : 8;
  return channels % lanes == 0 ? lanes : 1;
#else
  return 1;
#endif
}

Result<void> CpuConvolutions::launch(Stream stream, std::string_view kernel, std::size_t items,
                                     std::span<const Argument> arguments) {
  try {
    if (!state_) state_ = std::make_unique<State>();
    if (items == 0 || state_->run(stream, kernel, items, arguments)) return {};
  } catch (const dnnl::error& error) {
    return fail(error.status == dnnl_out_of_memory ? ErrorKind::no_space : ErrorKind::os,
                "oneDNN, kernel '" + std::string(kernel) + "': " + error.what());
  }
  return fail(ErrorKind::invalid, "arguments that do not fit kernel '" + std::string(kernel) + "'");
}

#endif

}  // namespace pinstep::worker
