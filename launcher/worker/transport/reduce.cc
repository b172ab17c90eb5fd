#include "launcher/worker/transport/reduce.h"

#include <algorithm>

namespace pinstep::worker {
namespace {

template <class T>
void reduce(T* into, const T* with, std::size_t count, Reduction reduction) {
  switch (reduction) {
    case Reduction::sum:
      for (std::size_t i = 0; i < count; ++i) into[i] = static_cast<T>(into[i] + with[i]);
      return;
    case Reduction::minimum:
      for (std::size_t i = 0; i < count; ++i) into[i] = std::min(into[i], with[i]);
      return;
    case Reduction::maximum:
      for (std::size_t i = 0; i < count; ++i) into[i] = std::max(into[i], with[i]);
      return;
  }
}

template <class T>
Result<void> reduce(Array into, Array with, Reduction how) {
  reduce(static_cast<T*>(into.data), static_cast<const T*>(with.data), into.count, how);
  return {};
}

}  // namespace

Result<void> reduce_into(Array into, Array with, Reduction how) {
  if (into.type != with.type || into.count != with.count)
    return fail(ErrorKind::invalid, "ranks reduce arrays that differ in type or length");
  switch (into.type) {
    case Type::f32:
      return reduce<float>(into, with, how);
    case Type::f64:
      return reduce<double>(into, with, how);
    case Type::i32:
      return reduce<std::int32_t>(into, with, how);
    case Type::i64:
      return reduce<std::int64_t>(into, with, how);
    case Type::u8:
      return reduce<std::uint8_t>(into, with, how);
    case Type::bf16:
      break;
  }
  return fail(ErrorKind::invalid, "no reduction of bf16 in host memory");
}

}  // namespace pinstep::worker
