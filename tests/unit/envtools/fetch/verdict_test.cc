#include "envtools/fetch/verdict.h"

#include <curl/curl.h>

#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using Next = Verdict::Next;
using std::chrono::milliseconds;

TEST(Judge, FollowsFromWhatCurlAndTheServerSay) {
  struct Case {
    TryEnd end;
    Next next;
    ErrorKind kind;
    bool host_is_down;
  };
  const Case cases[] = {
      {{CURLE_OK, 206, "", 0, true}, Next::complete, ErrorKind::network, false},
      {{CURLE_OK, 0, "", 0, false}, Next::complete, ErrorKind::network, false},  // file://
      {{CURLE_OK, 416, "", 0, true}, Next::start_over, ErrorKind::network, false},
      {{CURLE_HTTP_RETURNED_ERROR, 416, "", 0, false}, Next::next_url, ErrorKind::network, false},
      {{CURLE_RANGE_ERROR, 200, "", 0, true}, Next::start_over, ErrorKind::network, false},
      {{CURLE_HTTP_RETURNED_ERROR, 404, "", 0, false}, Next::next_url, ErrorKind::not_found, false},
      {{CURLE_HTTP_RETURNED_ERROR, 407, "", 0, false}, Next::next_url, ErrorKind::refused, false},
      {{CURLE_HTTP_RETURNED_ERROR, 400, "", 0, false}, Next::next_url, ErrorKind::network, false},
      {{CURLE_HTTP_RETURNED_ERROR, 503, "", 0, false}, Next::try_again, ErrorKind::network, false},
      {{CURLE_PARTIAL_FILE, 200, "", 0, false}, Next::try_again, ErrorKind::network, false},
      {{CURLE_OPERATION_TIMEDOUT, 200, "", 0, false}, Next::try_again, ErrorKind::network, false},
      {{CURLE_OPERATION_TIMEDOUT, 0, "", 0, false}, Next::try_again, ErrorKind::network, true},
      {{CURLE_COULDNT_RESOLVE_HOST, 0, "", 0, false}, Next::try_again, ErrorKind::network, true},
      {{CURLE_PEER_FAILED_VERIFICATION, 0, "", 0, false}, Next::next_url, ErrorKind::network, false},
      {{CURLE_FILE_COULDNT_READ_FILE, 0, "", 0, false}, Next::next_url, ErrorKind::not_found, false},
  };
  for (const Case& c : cases) {
    const Verdict verdict = judge(c.end, "https://example.org/x");
    EXPECT_EQ(verdict.next, c.next) << c.end.curl_code << " " << c.end.status;
    EXPECT_EQ(verdict.error.kind, c.kind) << c.end.curl_code << " " << c.end.status;
    EXPECT_EQ(verdict.host_is_down, c.host_is_down) << c.end.curl_code << " " << c.end.status;
  }
}

TEST(Judge, NamesTheUrlAndTheCause) {
  EXPECT_EQ(judge({CURLE_COULDNT_RESOLVE_HOST, 0, "Could not resolve host: example.org", 0, false},
                  "https://example.org/x")
                .error.cause,
            "'https://example.org/x' cannot be fetched: Could not resolve host: example.org");
}

TEST(PauseBeforeNext, GrowsAndObeysTheServerUpToAMinute) {
  EXPECT_EQ(pause_before_next(1, milliseconds(0)), milliseconds(500));
  EXPECT_EQ(pause_before_next(2, milliseconds(0)), milliseconds(1500));
  EXPECT_EQ(pause_before_next(1, milliseconds(7000)), milliseconds(7000));
  EXPECT_EQ(pause_before_next(1, milliseconds(3600000)), milliseconds(60000));
  EXPECT_EQ(judge({CURLE_HTTP_RETURNED_ERROR, 429, "", 7, false}, "x").wait, milliseconds(7000));
  EXPECT_EQ(judge({CURLE_HTTP_RETURNED_ERROR, 429, "", -7, false}, "x").wait, milliseconds(0));
}

}  // namespace
}  // namespace pinstep
