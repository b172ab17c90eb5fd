#include "launcher/worker/device/cpu_device.h"

#include <cblas.h>

#include <climits>
#include <cstdlib>
#include <cstring>

#include "launcher/worker/device/cpu_kernels.h"

namespace pinstep::worker {
namespace {

constexpr std::size_t kAlignment = 64;  // a cache line, and the widest vector register

CBLAS_TRANSPOSE blas(Gemm::Op op) { return op == Gemm::Op::plain ? CblasNoTrans : CblasTrans; }

// Whether a matrix of rows × columns fits into the array, row after row.
bool fits(const Array& array, std::size_t rows, std::size_t columns, std::size_t ld) {
  if (array.type != Type::f32 || ld < columns || ld > INT_MAX) return false;
  return rows == 0 || (rows - 1) * ld + columns <= array.count;
}

bool fits(const Gemm& p) {
  const bool a = p.op_a == Gemm::Op::plain ? fits(p.a, p.m, p.k, p.lda) : fits(p.a, p.k, p.m, p.lda);
  const bool b = p.op_b == Gemm::Op::plain ? fits(p.b, p.k, p.n, p.ldb) : fits(p.b, p.n, p.k, p.ldb);
  return a && b && fits(p.c, p.m, p.n, p.ldc) && p.m <= INT_MAX && p.n <= INT_MAX && p.k <= INT_MAX;
}

}  // namespace

void CpuDevice::use_threads(unsigned threads) {
  if (threads > 0) openblas_set_num_threads(static_cast<int>(threads));
  CpuConvolutions::use_threads(threads);
}

Result<void*> CpuDevice::allocate(std::size_t bytes) {
  void* memory = std::aligned_alloc(kAlignment, (bytes / kAlignment + 1) * kAlignment);
  if (memory == nullptr) return fail(ErrorKind::no_space, "no memory for " + std::to_string(bytes) + " bytes");
  return memory;
}

void CpuDevice::release(void* memory) noexcept { std::free(memory); }

Result<void> CpuDevice::copy(Stream, void* to, const void* from, std::size_t bytes, Direction) {
  if (bytes > 0) std::memcpy(to, from, bytes);
  return {};
}

Result<void> CpuDevice::zero(Stream, Array array) {
  if (array.count > 0) std::memset(array.data, 0, array.bytes());
  return {};
}

Result<void> CpuDevice::launch(Stream stream, std::string_view kernel, std::size_t items,
                               std::span<const Argument> arguments) {
  if (CpuConvolutions::has(kernel)) return convolutions_.launch(stream, kernel, items, arguments);
  const CpuKernel* found = find_cpu_kernel(kernel);
  if (found == nullptr) return fail(ErrorKind::invalid, "no kernel '" + std::string(kernel) + "'");
  if (!found->run(items, arguments))
    return fail(ErrorKind::invalid, "arguments that do not fit kernel '" + std::string(kernel) + "'");
  return {};
}

Result<void> CpuDevice::gemm(Stream, const Gemm& p) {
  if (!fits(p)) return fail(ErrorKind::invalid, "a matrix product whose arrays do not fit");
  cblas_sgemm(CblasRowMajor, blas(p.op_a), blas(p.op_b), static_cast<blasint>(p.m), static_cast<blasint>(p.n),
              static_cast<blasint>(p.k), p.alpha, static_cast<const float*>(p.a.data),
              static_cast<blasint>(p.lda), static_cast<const float*>(p.b.data), static_cast<blasint>(p.ldb),
              p.beta, static_cast<float*>(p.c.data), static_cast<blasint>(p.ldc));
  return {};
}

}  // namespace pinstep::worker
