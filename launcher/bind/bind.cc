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

constexpr std::array<std::string_view, 3> kPolicies{"preferred", "bind", "none"};

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

std::string_view to_string(MemoryPolicy policy) { return kPolicies[static_cast<std::size_t>(policy)]; }

std::optional<MemoryPolicy> parse_memory_policy(std::string_view name) {
  for (std::size_t i = 0; i < kPolicies.size(); ++i)
    if (kPolicies[i] == name) return static_cast<MemoryPolicy>(i);
  return std::nullopt;
}

Result<void> take_memory_of(std::uint32_t node, MemoryPolicy policy) {
  if (policy == MemoryPolicy::none) return {};
  // MPOL_PREFERRED and MPOL_BIND of linux/mempolicy.h
  const int mode = policy == MemoryPolicy::bind ? 2 : 1;
  constexpr std::size_t bits = sizeof(unsigned long) * CHAR_BIT;
  std::array<unsigned long, 1024 / bits> mask{};
  if (node >= 1024) return fail_errno(EINVAL, "take memory of node", std::to_string(node));
  mask[node / bits] = 1UL << (node % bits);
  if (::syscall(SYS_set_mempolicy, mode, mask.data(), mask.size() * bits + 1) != 0)
    return fail_errno(errno, "take memory of node", std::to_string(node));
  return {};
}

}  // namespace pinstep
