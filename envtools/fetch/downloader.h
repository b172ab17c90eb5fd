// All files of a job, several at a time.
#pragma once

#include <functional>

#include "envtools/fetch/fetch.h"
#include "envtools/fetch/transfer.h"

namespace pinstep {

struct Supervision {
  // Called from several threads, one at a time.
  std::function<void(const FetchEvent&)> on_event;
  // Asked from several threads at once; false makes every download end soon and keep its part.
  std::function<bool()> go_on;
};

// Gives the number of files that are not there at the end. Files that were not begun when `go_on` said no have
// no event. curl_global_init() was called before.
std::size_t download(const FetchJob& job, const TransferSettings& settings, const Supervision& supervision);

}  // namespace pinstep
