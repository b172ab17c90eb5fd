#include "launcher/worker/device/cpu_device.h"

#include <array>
#include <cmath>

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

TEST(CpuKernels, GatherPicksAndNormalises) {
  Bytes images{0, 10, 20, 30, 40, 50}, labels{1, 2, 3}, out_labels(2);
  std::vector<std::int32_t> index{2, 0};
  Floats out(4);
  const auto gather = [&] {
    return launch<8>(kernel::kGather, 2,
                     {Read{array(images)}, Read{array(labels)}, Read{array(index)}, Write{array(out)},
                      Write{array(out_labels)}, 2U, 10.0F, 0.1F});
  };
  ASSERT_THAT(gather(), Succeeds());
  EXPECT_EQ(out, (Floats{3, 4, -1, 0}));
  EXPECT_EQ(out_labels, (Bytes{3, 1}));
  for (const std::int32_t outside : {-1, 3}) {
    index[1] = outside;
    EXPECT_THAT(gather(), FailsWith(ErrorKind::invalid, "arguments that do not fit kernel 'gather'"));
  }
}

TEST(CpuKernels, ReluAndItsGradient) {
  Floats x{-1, 0, 2, 3}, gradient{5, 6, 7, 8};
  ASSERT_THAT((launch<2>(kernel::kRelu, 2, {Update{array(x)}, 2U})), Succeeds());
  EXPECT_EQ(x, (Floats{0, 0, 2, 3}));
  ASSERT_THAT((launch<3>(kernel::kReluBackward, 2, {Update{array(gradient)}, Read{array(x)}, 2U})), Succeeds());
  EXPECT_EQ(gradient, (Floats{0, 0, 7, 8}));
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

// As torch.optim.SGD(lr=0.1, momentum=0.9, weight_decay=0.5) does two steps from p=1 with g=1.
TEST(CpuKernels, SgdIsThatOfPyTorch) {
  Floats p{1}, g{1}, v{0};
  for (const float expected : {0.85F, 0.5725F}) {
    ASSERT_THAT(
        (launch<6>(kernel::kSgd, 1, {Update{array(p)}, Read{array(g)}, Update{array(v)}, 0.1F, 0.9F, 0.5F})),
        Succeeds());
    EXPECT_NEAR(p[0], expected, 1e-6);
  }
}

}  // namespace
}  // namespace pinstep::worker
