// One connection: downloads into a part file, one try at a time. The only user of libcurl's transfer functions.
#pragma once

#include <curl/curl.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "envtools/base/environment.h"
#include "envtools/fetch/part_file.h"
#include "envtools/fetch/verdict.h"

namespace pinstep {

struct TransferSettings {
  int connect_seconds = 15;
  int stall_seconds = 30;
  std::string ca_file, ca_directory;           // empty: libcurl's own
  std::string netrc;                           // empty: ~/.netrc
  std::map<std::string, std::string> proxies;  // of the job
};

// What the job says of certificates and proxies, else what the environment does of certificates (SSL_CERT_FILE,
// REQUESTS_CA_BUNDLE, CURL_CA_BUNDLE, SSL_CERT_DIR) and NETRC. Proxies libcurl finds there itself.
TransferSettings transfer_settings(const Environment& environment, const FetchJob& job);

class Transfer {
 public:
  explicit Transfer(const TransferSettings& settings);

  struct End {
    std::optional<Error> own;  // the file could not be written or is too long, or the user stopped it
    bool stopped = false;
    TryEnd server;
  };
  // Appends to `part` what it lacks of the URL's content. `go_on` is asked at every piece and about once a
  // second; false ends the try.
  End try_once(const std::string& url, PartFile& part, const std::function<bool()>& go_on);

 private:
  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> handle_;
  const std::map<std::string, std::string> proxies_;
};

}  // namespace pinstep
