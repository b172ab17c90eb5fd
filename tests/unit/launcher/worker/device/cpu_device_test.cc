#include "launcher/worker/device/cpu_device.h"

#include <array>
#include <cmath>

#include "launcher/worker/device/cpu_kernels.h"
#include "launcher/worker/device/kernels.h"
#include "launcher/worker/device/memory.h"
#include "tests/unit/launcher/worker/support/ranks.h"

namespace pinstep::worker {
namespace {

using testing_support::array;
using testing_support::FailsWith;
using testing_support::Succeeds;
using Floats = std::vector<float>;
using Bytes = std::vector<std::uint8_t>;

template <std::size_t N>
Result<void> launch(std::string_view kernel, std::size_t items, const std::array<Argument, N>& arguments) {
  CpuDevice device;
  return device.launch({}, kernel, items, arguments);
}

// op(A) · op(B), element by element.
Floats product(const Floats& a, Gemm::Op op_a, const Floats& b, Gemm::Op op_b, std::size_t m, std::size_t n,
               std::size_t k) {
  Floats c(m * n);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t l = 0; l < k; ++l)
        c[i * n + j] += (op_a == Gemm::Op::plain ? a[i * k + l] : a[l * m + i]) *
                        (op_b == Gemm::Op::plain ? b[l * n + j] : b[j * k + l]);
  return c;
}

TEST(CpuDevice, MultipliesMatricesPlainAndTransposed) {
  constexpr std::size_t m = 3, n = 5, k = 4;
  Floats a(m * k), b(k * n);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i) - 5;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = 0.5F * static_cast<float>(i) - 3;
  CpuDevice device;
  for (const auto op_a : {Gemm::Op::plain, Gemm::Op::transposed})
    for (const auto op_b : {Gemm::Op::plain, Gemm::Op::transposed}) {
      Floats c(m * n, 100);
      Gemm p{op_a, op_b, m, n, k, 2, 1, array(a), array(b), array(c), 0, 0, n};
      p.lda = op_a == Gemm::Op::plain ? k : m;
      p.ldb = op_b == Gemm::Op::plain ? n : k;
      ASSERT_THAT(device.gemm({}, p), Succeeds());
      const Floats expected = product(a, op_a, b, op_b, m, n, k);
      for (std::size_t i = 0; i < c.size(); ++i) EXPECT_FLOAT_EQ(c[i], 100 + 2 * expected[i]);
    }
}

TEST(CpuDevice, RefusesAProductThatDoesNotFit) {
  Floats a(6), b(6), c(3);
  CpuDevice device;
  const Gemm p{Gemm::Op::plain, Gemm::Op::plain, 2, 2, 3, 1, 0, array(a), array(b), array(c), 3, 2, 2};
  EXPECT_THAT(device.gemm({}, p), FailsWith(ErrorKind::invalid, "a matrix product whose arrays do not fit"));
}

TEST(CpuDevice, RefusesUnknownKernelsAndArgumentsThatDoNotFit) {
  Floats x(6), bias(3);
  EXPECT_THAT(launch<1>("fly", 1, {1U}), FailsWith(ErrorKind::invalid, "no kernel 'fly'"));
  const auto wrong = FailsWith(ErrorKind::invalid, "arguments that do not fit kernel 'add_bias'");
  EXPECT_THAT((launch<3>(kernel::kAddBias, 2, {Update{array(x)}, Read{array(bias)}, 3U})), Succeeds());
  EXPECT_THAT((launch<3>(kernel::kAddBias, 3, {Update{array(x)}, Read{array(bias)}, 3U})),
              wrong);  // too many rows
  EXPECT_THAT((launch<3>(kernel::kAddBias, 2, {Read{array(x)}, Read{array(bias)}, 3U})), wrong);  // not written
  EXPECT_THAT((launch<3>(kernel::kAddBias, 2, {Update{array(x)}, Read{array(bias)}, 3.0F})), wrong);
  EXPECT_THAT((launch<2>(kernel::kAddBias, 2, {Update{array(x)}, Read{array(bias)}})), wrong);
}

TEST(CpuDevice, MemoryHasItsSizeAndAlignment) {
  CpuDevice device;
  const auto memory = Memory::allocate(device, 3, Type::f64);
  ASSERT_THAT(memory, Succeeds());
  EXPECT_EQ(memory->array().bytes(), 24U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory->array().data) % 64, 0U);
  EXPECT_THAT(device.zero({}, memory->array()), Succeeds());
  EXPECT_EQ(static_cast<const double*>(memory->array().data)[2], 0);
}

TEST(CpuKernels, NormaliseShiftsAndScales) {
  Bytes bytes{0, 10, 20, 255};
  Floats out(4);
  ASSERT_THAT((launch<5>(kernel::kNormalise, 2, {Read{array(bytes)}, Write{array(out)}, 2U, 10.0F, 0.5F})),
              Succeeds());
  EXPECT_EQ(out, (Floats{-5, 0, 5, 122.5F}));
}

TEST(CpuKernels, BiasAndReluAndTheirGradient) {
  Floats x{-1, 0, 2, 3}, bias{0.5F, -2}, gradient{5, 6, 7, 8}, sums{100, 200};
  ASSERT_THAT((launch<3>(kernel::kBiasRelu, 2, {Update{array(x)}, Read{array(bias)}, 2U})), Succeeds());
  EXPECT_EQ(x, (Floats{0, 0, 2.5F, 1}));
  const auto backward = [&](float beta) {
    return launch<5>(kernel::kBiasReluGradient, 2,
                     {Update{array(gradient)}, Read{array(x)}, Update{array(sums)}, 2U, beta});
  };
  ASSERT_THAT(backward(1), Succeeds());
  EXPECT_EQ(gradient, (Floats{0, 0, 7, 8}));
  EXPECT_EQ(sums, (Floats{107, 208}));
  sums = {std::nanf(""), 1};  // must not matter
  ASSERT_THAT(backward(0), Succeeds());
  EXPECT_EQ(sums, (Floats{7, 8}));
  gradient = {1, 2, 3, 4};
  ASSERT_THAT((launch<4>(kernel::kBiasGradient, 2, {Read{array(gradient)}, Update{array(sums)}, 2U, 1.0F})),
              Succeeds());
  EXPECT_EQ(sums, (Floats{11, 14}));
}

// Two channels of 2 × 4 pixels and an odd row; whatever the inner order, the maxima are the same.
TEST(CpuKernels, MaxPoolTakesTheLargestAndSpreadsItsGradient) {
  for (const std::size_t channels : {std::size_t{2}, std::size_t{16}, std::size_t{32}}) {
    constexpr std::uint32_t kRows = 3, kColumns = 5, kPooled = 2;
    const std::size_t lanes = cpu_lanes(channels), pixels = kRows * kColumns;
    const auto inner = [&](std::size_t channel, std::size_t pixel, std::size_t of) {
      return (channel / lanes * of + pixel) * lanes + channel % lanes;
    };
    Floats x(channels * pixels);
    for (std::size_t c = 0; c < channels; ++c)
      for (std::size_t p = 0; p < pixels; ++p)
        x[inner(c, p, pixels)] = static_cast<float>((p * 7 + c * 3) % 11) - 5;
    for (const std::uint32_t plain : {0U, 1U}) {
      Floats y(channels * kPooled), slope(x.size(), 99), gradient(y.size());
      Bytes choice(y.size());
      const auto at = [&](std::size_t c, std::size_t p) {
        return plain ? c * kPooled + p : inner(c, p, kPooled);
      };
      const auto c32 = static_cast<std::uint32_t>(channels);
      ASSERT_THAT(
          (launch<7>(kernel::kMaxPool, 1,
                     {Read{array(x)}, Write{array(y)}, Write{array(choice)}, kRows, kColumns, c32, plain})),
          Succeeds());
      for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] = static_cast<float>(i) + 1;
      ASSERT_THAT((launch<8>(kernel::kMaxPoolGradient, 1,
                             {Read{array(gradient)}, Read{array(y)}, Read{array(choice)}, Write{array(slope)},
                              kRows, kColumns, c32, plain})),
                  Succeeds());
      for (std::size_t c = 0; c < channels; ++c) {
        Floats expected(pixels);
        for (std::size_t p = 0; p < kPooled; ++p) {
          std::size_t largest = 2 * p;
          for (const std::size_t other : {2 * p + 1, kColumns + 2 * p, kColumns + 2 * p + 1})
            if (x[inner(c, other, pixels)] > x[inner(c, largest, pixels)]) largest = other;
          EXPECT_EQ(y[at(c, p)], x[inner(c, largest, pixels)]);
          if (y[at(c, p)] > 0) expected[largest] = gradient[at(c, p)];
        }
        for (std::size_t p = 0; p < pixels; ++p)
          EXPECT_EQ(slope[inner(c, p, pixels)], expected[p]) << c << " " << p;
      }
    }
  }
}

TEST(CpuKernels, CrossEntropyOfLargeLogitsIsFinite) {
  Floats logits{1000, 999, -1000, 0, 0, 0};
  Bytes labels{0, 2};
  std::vector<double> totals{10, 20};
  ASSERT_THAT((launch<5>(kernel::kSoftmaxCrossEntropy, 2,
                         {Update{array(logits)}, Read{array(labels)}, Update{array(totals)}, 3U, 0.5F})),
              Succeeds());
  const double e = std::exp(-1.0);
  EXPECT_NEAR(totals[0], 10 + std::log(1 + e) + std::log(3.0), 1e-6);
  EXPECT_EQ(totals[1], 21);  // of three equal logits the first counts, which is not the label
  EXPECT_NEAR(logits[0], 0.5 * (1 / (1 + e) - 1), 1e-6);
  EXPECT_NEAR(logits[1], 0.5 * e / (1 + e), 1e-6);
  EXPECT_NEAR(logits[5], 0.5 * (1.0 / 3 - 1), 1e-6);
}

TEST(CpuKernels, ALabelBeyondTheClassesIsRefused) {
  Floats logits(3);
  Bytes labels{3};
  std::vector<double> totals(2);
  EXPECT_FALSE(launch<5>(kernel::kSoftmaxCrossEntropy, 1,
                         {Update{array(logits)}, Read{array(labels)}, Update{array(totals)}, 3U, 1.0F}));
}

}  // namespace
}  // namespace pinstep::worker
