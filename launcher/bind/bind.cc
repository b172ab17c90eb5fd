#include "launcher/bind/bind.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <memory>

namespace pinstep {
namespace {

// Room for more processors than any machine has: the kernel refuses a mask that is too short.
constexpr int kProcessors = 8192;

struct Free {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};

}  // namespace

Bits affinity() {
  Bits bits;
  const std::unique_ptr<cpu_set_t, Free> set(CPU_ALLOC(kProcessors));
  const std::size_t size = CPU_ALLOC_SIZE(kProcessors);
  if (set == nullptr || ::sched_getaffinity(0, size, set.get()) != 0) return bits;
  for (std::uint32_t cpu = 0; cpu < kProcessors; ++cpu)
    if (CPU_ISSET_S(cpu, size, set.get())) bits.add(cpu);
  return bits;
}

Result<void> bind_to(const Bits& processors) {
  const std::unique_ptr<cpu_set_t, Free> set(CPU_ALLOC(kProcessors));
  const std::size_t size = CPU_ALLOC_SIZE(kProcessors);
  if (set == nullptr) return fail_errno(ENOMEM, "bind to processors", processors.text());
  CPU_ZERO_S(size, set.get());
  for (const std::uint32_t cpu : processors.numbers())
    if (cpu < kProcessors) CPU_SET_S(cpu, size, set.get());
  if (::sched_setaffinity(0, size, set.get()) != 0)
    return fail_errno(errno, "bind to processors", processors.text());
  return {};
}

Result<void> prefer_memory_of(std::uint32_t node) {
  constexpr int preferred = 1;  // MPOL_PREFERRED of linux/mempolicy.h
  constexpr std::size_t bits = sizeof(unsigned long) * CHAR_BIT;
  std::array<unsigned long, 1024 / bits> mask{};
  if (node >= 1024) return fail_errno(EINVAL, "prefer memory node", std::to_string(node));
  mask[node / bits] = 1UL << (node % bits);
  if (::syscall(SYS_set_mempolicy, preferred, mask.data(), mask.size() * bits + 1) != 0)
    return fail_errno(errno, "prefer memory node", std::to_string(node));
  return {};
}

}  // namespace pinstep
