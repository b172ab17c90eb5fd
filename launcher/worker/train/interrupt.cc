#include "launcher/worker/train/interrupt.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>

namespace pinstep::worker {
namespace {

struct Name {
  std::string_view name;
  int number;
};
constexpr std::array<Name, 8> kNames{{{"HUP", SIGHUP},
                                      {"INT", SIGINT},
                                      {"QUIT", SIGQUIT},
                                      {"USR1", SIGUSR1},
                                      {"USR2", SIGUSR2},
                                      {"TERM", SIGTERM},
                                      {"XCPU", SIGXCPU},
                                      {"ALRM", SIGALRM}}};

// A handler can leave its word nowhere else.
std::atomic<int> noted{0};
static_assert(std::atomic<int>::is_always_lock_free);

}  // namespace

std::optional<int> parse_signal(std::string_view name) {
  if (name.starts_with("SIG")) name.remove_prefix(3);
  const auto found = std::find_if(kNames.begin(), kNames.end(), [&](const Name& n) { return n.name == name; });
  if (found == kNames.end()) return std::nullopt;
  return found->number;
}

std::string_view signal_name(int number) {
  const auto found =
      std::find_if(kNames.begin(), kNames.end(), [&](const Name& n) { return n.number == number; });
  return found == kNames.end() ? "" : found->name;
}

void note_signals(const std::vector<int>& numbers) {
  struct sigaction action {};
  action.sa_handler = [](int number) { noted = number; };
  action.sa_flags = SA_RESTART;
  for (const int number : numbers) ::sigaction(number, &action, nullptr);
}

int noted_signal() { return noted; }

}  // namespace pinstep::worker
