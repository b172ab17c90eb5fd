// Nothing of ours throws; the libraries do where there is no memory left.
#pragma once

#include <exception>
#include <new>
#include <string>

#include "envtools/base/error.h"

namespace pinstep {

// work(), a Result, with what was thrown as an error: in a thread nobody could catch it.
template <class Work>
auto without_exceptions(const Work& work) noexcept -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return fail(ErrorKind::os, "there is not enough memory");
  } catch (const std::exception& error) {
    return fail(ErrorKind::os, std::string("this must not happen: ") + error.what());
  }
}

}  // namespace pinstep
