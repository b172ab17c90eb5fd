#include "launcher/worker/cli/session_options.h"

namespace pinstep::worker {
namespace {

bool read_store(std::string_view text, StoreKind& value) {
  if (text == "auto")
    value = StoreKind::automatic;
  else if (text == "tcp")
    value = StoreKind::tcp;
  else if (text == "pmix")
    value = StoreKind::pmix;
  else
    return false;
  return true;
}

}  // namespace

Option store_option(StoreKind& store) {
  return choice_option("--store", "auto, tcp or pmix",
                       [&store](std::string_view text) { return read_store(text, store); });
}

std::vector<Option> session_options(SessionSettings& session) {
  return {
      store_option(session.store),
      seconds_option("--timeout", session.deadline),
      seconds_option("--start-timeout", session.start_time),
  };
}

}  // namespace pinstep::worker
