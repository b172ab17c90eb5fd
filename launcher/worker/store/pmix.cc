#include "launcher/worker/store/pmix.h"

#ifdef PINSTEP_WITH_PMIX
#include <pmix.h>
#endif

#include "envtools/base/text.h"
#include "launcher/worker/try.h"

namespace pinstep::worker {

#ifdef PINSTEP_WITH_PMIX

namespace {

constexpr const char* kKey = "pinstep-worker";

Result<void> check(pmix_status_t status, const char* what) {
  if (status == PMIX_SUCCESS) return {};
  return fail(ErrorKind::network, std::string("PMIx: ") + what + ": " + PMIx_Error_string(status),
              "srun --mpi=list says whether Slurm has PMIx; srun --mpi=pmix asks for it");
}

class Client {
 public:
  static Result<std::unique_ptr<Client>> init() {
    std::unique_ptr<Client> client(new Client);
    if (auto done = check(PMIx_Init(&client->self_, nullptr, 0), "cannot begin"); !done)
      return fail(ErrorKind::not_found, done.error().cause, done.error().hint);  // no rank's fault
    client->is_on_ = true;
    return client;
  }
  // A client that ends without it takes its step with it.
  ~Client() {
    if (is_on_) PMIx_Finalize(nullptr, 0);
  }

  std::uint32_t rank() const { return self_.rank; }

  Result<std::uint32_t> number(const char* key, bool is_of_rank) {
    pmix_proc_t who;
    PMIX_LOAD_PROCID(&who, self_.nspace, is_of_rank ? self_.rank : PMIX_RANK_WILDCARD);
    pmix_value_t* value = nullptr;
    PINSTEP_TRY(check(PMIx_Get(&who, key, nullptr, 0, &value), key));
    const std::uint32_t number = value->type == PMIX_UINT16 ? value->data.uint16 : value->data.uint32;
    PMIX_VALUE_RELEASE(value);
    return number;
  }

  Result<void> put(const std::string& text) {
    pmix_value_t value;
    PMIX_VALUE_LOAD(&value, text.c_str(), PMIX_STRING);
    const pmix_status_t status = PMIx_Put(PMIX_GLOBAL, kKey, &value);
    PMIX_VALUE_DESTRUCT(&value);
    PINSTEP_TRY(check(status, "cannot publish"));
    return check(PMIx_Commit(), "cannot publish");
  }

  Result<void> fence() {
    bool collect = true;
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    const pmix_status_t status = PMIx_Fence(nullptr, 0, &info, 1);
    PMIX_INFO_DESTRUCT(&info);
    return check(status, "the ranks do not come together");
  }

  Result<std::string> of_rank_0() {
    pmix_proc_t first;
    PMIX_LOAD_PROCID(&first, self_.nspace, 0);
    pmix_value_t* value = nullptr;
    PINSTEP_TRY(check(PMIx_Get(&first, kKey, nullptr, 0, &value), "no word from rank 0"));
    const std::string text = value->type == PMIX_STRING ? value->data.string : "";
    PMIX_VALUE_RELEASE(value);
    return text;
  }

 private:
  Client() = default;

  pmix_proc_t self_{};
  bool is_on_ = false;
};

// "ok PORT HOST HOST …", or "failed CAUSE": the others must not wait for a rank 0 that has no port.
std::string encode(const Result<Meeting>& meeting) {
  if (!meeting) return "failed " + meeting.error().cause;
  std::string text = "ok " + std::to_string(meeting->port);
  for (const std::string& host : meeting->hosts) text += " " + host;
  return text;
}

Result<Meeting> decode(std::string_view text) {
  const auto words = split(text, ' ');
  Meeting meeting;
  if (words.size() < 3 || words[0] != "ok") return fail(ErrorKind::network, "rank 0 says: " + printable(text));
  meeting.port = parse_number<std::uint16_t>(words[1]).value_or(0);
  for (std::size_t i = 2; i < words.size(); ++i) meeting.hosts.emplace_back(words[i]);
  return meeting;
}

}  // namespace

Result<Place> meet_by_pmix(std::string cookie, const std::function<Result<Meeting>(std::uint32_t size)>& open) {
  auto client = Client::init();
  if (!client) return tl::unexpected(client.error());
  Place place;
  place.cookie = std::move(cookie);
  place.rank = (*client)->rank();
  const auto size = (*client)->number(PMIX_JOB_SIZE, false);
  if (!size) return tl::unexpected(size.error());
  place.size = place.local_size = *size;
  if (const auto local = (*client)->number(PMIX_LOCAL_RANK, true)) place.local_rank = *local;
  if (const auto local = (*client)->number(PMIX_LOCAL_SIZE, false)) place.local_size = *local;
  if (place.size == 1) return place;

  Result<Meeting> mine = place.rank == 0 ? open(*size) : Meeting{};
  if (place.rank == 0) PINSTEP_TRY((*client)->put(encode(mine)));
  PINSTEP_TRY((*client)->fence());
  const auto text = (*client)->of_rank_0();
  // A server may still be asked for what it has: nobody leaves before all have it.
  PINSTEP_TRY((*client)->fence());
  if (!mine) return tl::unexpected(mine.error());
  if (!text) return tl::unexpected(text.error());
  auto meeting = decode(*text);
  if (!meeting) return tl::unexpected(meeting.error());
  place.meeting = std::move(*meeting);
  return place;
}

#else

Result<Place> meet_by_pmix(std::string, const std::function<Result<Meeting>(std::uint32_t size)>&) {
  return fail(ErrorKind::unsupported, "this pinstep-worker was built without PMIx", "--store=tcp needs none");
}

#endif

}  // namespace pinstep::worker
