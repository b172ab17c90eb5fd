#include "envtools/fetch/transfer.h"

#include <sys/stat.h>
#include <unistd.h>

#include <new>
#include <utility>

#include "envtools/base/text.h"
#include "pinstep_config.h"

namespace pinstep {
namespace {

struct Receiver {
  CURL* handle;
  PartFile& part;
  const std::function<bool()>& go_on;
  std::optional<Error> own;
  bool stopped = false;
  bool begun = false;
};

// What the server says will come is looked at before the first of it is written.
Result<void> take(Receiver& receiver, std::string_view bytes) {
  curl_off_t length = -1;
  curl_easy_getinfo(receiver.handle, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
  if (!std::exchange(receiver.begun, true) && length > 0)
    if (auto fits = receiver.part.expect(static_cast<std::uint64_t>(length)); !fits) return fits;
  return receiver.part.append(bytes);
}

std::size_t receive(char* bytes, std::size_t, std::size_t size, void* data) {
  auto& receiver = *static_cast<Receiver*>(data);
  if (!receiver.go_on()) {
    receiver.stopped = true;
    return 0;
  }
  if (const auto put = take(receiver, {bytes, size}); !put) {
    receiver.own = put.error();
    return 0;
  }
  return size;
}

int ask(void* data, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  auto& receiver = *static_cast<Receiver*>(data);
  receiver.stopped = receiver.stopped || !receiver.go_on();
  return receiver.stopped ? 1 : 0;
}

// A device or a pipe has no end, or blocks when it is opened.
std::optional<Error> no_regular_file(const std::string& url) {
  constexpr std::string_view kScheme = "file://";
  if (!url.starts_with(kScheme)) return std::nullopt;
  const std::size_t path = url.find('/', kScheme.size());
  const auto decoded = percent_decode(path == std::string::npos ? "" : url.substr(path));
  struct stat info {};
  if (!decoded || ::stat(decoded->c_str(), &info) != 0 || S_ISREG(info.st_mode)) return std::nullopt;
  return Error{ErrorKind::refused, "'" + printable(url) + "' cannot be fetched: it is no regular file", ""};
}

// A redirection must not lead to local files.
void limit_protocols(CURL* handle) {
#if LIBCURL_VERSION_NUM >= 0x075500
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https,file");
  curl_easy_setopt(handle, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
#else
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS | CURLPROTO_FILE);
  curl_easy_setopt(handle, CURLOPT_REDIR_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS);
#endif
}

// A libcurl that was built on another distribution looks where that one has its certificates. Empty: it is
// right.
std::string usual_ca_file() {
#if LIBCURL_VERSION_NUM >= 0x074600
  const char* const own = curl_version_info(CURLVERSION_NOW)->cainfo;
  if (own == nullptr || ::access(own, R_OK) == 0) return {};
  for (const char* file : {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                           "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"})
    if (::access(file, R_OK) == 0) return file;
#endif
  return {};
}

}  // namespace

TransferSettings transfer_settings(const Environment& environment, const FetchJob& job) {
  TransferSettings settings;
  settings.connect_seconds = job.connect_seconds;
  settings.stall_seconds = job.stall_seconds;
  const auto value = [&](const char* name) { return std::string(environment.get(name).value_or("")); };
  settings.ca_file = job.certificates;
  for (const char* name : {"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"})
    if (settings.ca_file.empty()) settings.ca_file = value(name);
  if (job.certificates.empty()) settings.ca_directory = value("SSL_CERT_DIR");
  struct stat info {};
  if (::stat(settings.ca_file.c_str(), &info) == 0 && S_ISDIR(info.st_mode))  // REQUESTS_CA_BUNDLE may name one
    settings.ca_directory = std::exchange(settings.ca_file, {});
  if (settings.ca_file.empty() && settings.ca_directory.empty()) settings.ca_file = usual_ca_file();
  settings.netrc = value("NETRC");
  settings.proxies = job.proxies;
  return settings;
}

Transfer::Transfer(const TransferSettings& settings)
    : handle_(curl_easy_init(), &curl_easy_cleanup), proxies_(settings.proxies) {
  CURL* const handle = handle_.get();
  if (handle == nullptr) throw std::bad_alloc();
  limit_protocols(handle);
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);  // other threads have theirs
  curl_easy_setopt(handle, CURLOPT_USERAGENT, "pinstep/" PINSTEP_VERSION);
  curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(handle, CURLOPT_MAXREDIRS, 10L);
  curl_easy_setopt(handle, CURLOPT_FAILONERROR, 1L);  // a page that says "not found" is no package
  // A file has a connection for itself: what several share in one HTTP/2 connection is slower.
  curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(handle, CURLOPT_BUFFERSIZE, 256L << 10);
  curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, static_cast<long>(settings.connect_seconds));
  curl_easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, static_cast<long>(settings.stall_seconds));
  curl_easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, 1024L);  // bytes per second
  curl_easy_setopt(handle, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_OPTIONAL));
  if (!settings.netrc.empty()) curl_easy_setopt(handle, CURLOPT_NETRC_FILE, settings.netrc.c_str());
  if (!settings.ca_file.empty()) curl_easy_setopt(handle, CURLOPT_CAINFO, settings.ca_file.c_str());
  if (!settings.ca_directory.empty()) curl_easy_setopt(handle, CURLOPT_CAPATH, settings.ca_directory.c_str());
  curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, ask);
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, receive);
}

Transfer::End Transfer::try_once(const std::string& url, PartFile& part, const std::function<bool()>& go_on) {
  CURL* const handle = handle_.get();
  Receiver receiver{handle, part, go_on, {}};
  char detail[CURL_ERROR_SIZE] = "";
  End end;
  end.own = no_regular_file(url);
  if (end.own) return end;
  end.server.continued = part.size() > 0;
  curl_easy_setopt(handle, CURLOPT_URL, url.c_str());
  const auto proxy = proxies_.find(url.substr(0, url.find(':')));
  curl_easy_setopt(handle, CURLOPT_PROXY, proxy == proxies_.end() ? nullptr : proxy->second.c_str());
  curl_easy_setopt(handle, CURLOPT_RESUME_FROM_LARGE, static_cast<curl_off_t>(part.size()));
  curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, detail);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &receiver);
  curl_easy_setopt(handle, CURLOPT_XFERINFODATA, &receiver);
  end.server.curl_code = curl_easy_perform(handle);
  curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, nullptr);

  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &end.server.status);
  curl_off_t retry_after = 0;
  if (curl_easy_getinfo(handle, CURLINFO_RETRY_AFTER, &retry_after) == CURLE_OK)
    end.server.retry_after = static_cast<long>(retry_after);
  curl_off_t length = -1;
  end.server.has_length =
      curl_easy_getinfo(handle, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length) != CURLE_OK || length >= 0;
  end.server.detail = detail;
  end.own = std::move(receiver.own);
  end.stopped = receiver.stopped;
  return end;
}

}  // namespace pinstep
