// How one try to download ended, and what follows from it. Pure.
#pragma once

#include <chrono>
#include <string>

#include "envtools/base/error.h"

namespace pinstep {

// What libcurl and the server said.
struct TryEnd {
  int curl_code = 0;       // CURLcode
  long status = 0;         // of HTTP; 0: none came, or not HTTP
  std::string detail;      // libcurl's words
  long retry_after = 0;    // seconds that the server asks for; 0: it does not
  bool continued = false;  // only the rest of the file was asked for
  bool has_length = true;  // it was said how many bytes would come; libcurl then knows when some are missing
};

struct Verdict {
  enum class Next {
    complete,    // all bytes came
    start_over,  // the server cannot continue a file
    try_again,   // it may go better in a while
    next_url,    // not from here
  };
  Next next = Next::complete;
  std::chrono::milliseconds wait{0};  // before trying again, at least
  bool host_is_down = false;          // nobody answered: other files need not try there
  Error error{ErrorKind::network, "", ""};
};

// `url` has no credentials.
Verdict judge(const TryEnd& end, const std::string& url);

inline constexpr int kTries = 3;  // of one URL, without progress in between

// Before try number `tried` + 1: half a second, then three times as long each time; what the server asks for
// counts up to a minute.
std::chrono::milliseconds pause_before_next(int tried, std::chrono::milliseconds asked);

}  // namespace pinstep
