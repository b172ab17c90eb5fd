#include "envtools/fetch/verdict.h"

#include <curl/curl.h>

#include <algorithm>

#include "envtools/base/text.h"

namespace pinstep {
namespace {

using Next = Verdict::Next;

Verdict verdict(Next next, ErrorKind kind, const std::string& url, const std::string& why,
                std::string hint = {}) {
  Verdict result;
  result.next = next;
  result.error = {kind, "'" + printable(url) + "' cannot be fetched: " + printable(why), std::move(hint)};
  return result;
}

Verdict judge_status(const TryEnd& end, const std::string& url) {
  const std::string why = "the server answers " + std::to_string(end.status);
  switch (end.status) {
    case 401:
    case 403:
      return verdict(Next::next_url, ErrorKind::refused, url, why,
                     "does the channel want a login? pinstep reads ~/.netrc");
    case 407:
      return verdict(Next::next_url, ErrorKind::refused, url, why, "the proxy wants a login: see https_proxy");
    case 404:
    case 410:
      return verdict(Next::next_url, ErrorKind::not_found, url, why, "was the package withdrawn? lock anew");
    case 416:  // the part that is here is no part of what is there
      return verdict(end.continued ? Next::start_over : Next::next_url, ErrorKind::network, url, why);
    default:
      break;
  }
  const bool may_pass = end.status == 408 || end.status == 425 || end.status == 429 || end.status >= 500;
  Verdict result = verdict(may_pass ? Next::try_again : Next::next_url, ErrorKind::network, url, why,
                           may_pass ? "try again later" : "");
  result.wait = std::chrono::seconds(std::clamp(end.retry_after, 0L, 3600L));
  return result;
}

}  // namespace

Verdict judge(const TryEnd& end, const std::string& url) {
  const std::string detail =
      end.detail.empty() ? curl_easy_strerror(static_cast<CURLcode>(end.curl_code)) : end.detail;
  switch (end.curl_code) {
    case CURLE_OK:
      return end.status >= 400 ? judge_status(end, url) : Verdict();
    case CURLE_HTTP_RETURNED_ERROR:
      return judge_status(end, url);
    case CURLE_RANGE_ERROR:
    case CURLE_BAD_DOWNLOAD_RESUME:
      return verdict(end.continued ? Next::start_over : Next::next_url, ErrorKind::network, url, detail);
    case CURLE_FILE_COULDNT_READ_FILE:
      return verdict(Next::next_url, ErrorKind::not_found, url, "there is no such file that can be read");
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
    case CURLE_TOO_MANY_REDIRECTS:
      return verdict(Next::next_url, ErrorKind::network, url, detail);
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
      return verdict(Next::next_url, ErrorKind::network, url, detail,
                     "if your site has certificates of its own, name their file in SSL_CERT_FILE");
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT: {
      Verdict result = verdict(Next::try_again, ErrorKind::network, url, detail,
                               "is this machine on a network, or does it need a proxy (https_proxy)?");
      result.host_is_down = end.status == 0;
      return result;
    }
    default:  // a connection that broke, in one way or other
      return verdict(Next::try_again, ErrorKind::network, url, detail, "try again later");
  }
}

std::chrono::milliseconds pause_before_next(int tried, std::chrono::milliseconds asked) {
  std::chrono::milliseconds pause(500);
  for (int i = 1; i < tried; ++i) pause *= 3;
  return std::max(pause, std::min(asked, std::chrono::milliseconds(60000)));
}

}  // namespace pinstep
