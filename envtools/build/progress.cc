#include "envtools/build/progress.h"

#include <unistd.h>

#include "envtools/base/fd.h"

namespace pinstep {
namespace {

constexpr Clock::Milliseconds kTerminalEvery{100};
constexpr Clock::Milliseconds kLineEvery{30'000};

void print(const std::string& text) { write_message(STDERR_FILENO, text); }

}  // namespace

void Progress::clear() {
  if (on_line_) print("\r\033[K");
  on_line_ = false;
}

void Progress::stage(std::string_view name) {
  if (!stages_) return;
  clear();
  print("pinstep: stage: " + std::string(name) + "\n");
}

void Progress::say(std::string_view text) {
  if (style_ == Style::quiet) return;
  clear();
  print("pinstep: " + std::string(text) + "\n");
}

void Progress::now(std::string_view text) {
  if (style_ == Style::quiet) return;
  const Clock::Milliseconds time = clock_.now();
  // The first line of a log comes after as long as the second after it: a short build says nothing.
  if (shown_.count() < 0 && style_ == Style::lines) shown_ = time;
  if (shown_.count() >= 0 && time - shown_ < (style_ == Style::terminal ? kTerminalEvery : kLineEvery)) return;
  shown_ = time;
  if (style_ == Style::lines) return print("pinstep: " + std::string(text) + "\n");
  print("\r\033[K" + std::string(text));
  on_line_ = true;
}

}  // namespace pinstep
