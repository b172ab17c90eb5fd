#include "envtools/cli/progress.h"

#include <unistd.h>

#include <cstdio>

#include "envtools/base/text.h"

namespace pinstep::cli {

Progress::Progress() : on_terminal_(::isatty(STDERR_FILENO) == 1) {}

void Progress::show(const std::string& text) {
  if (!on_terminal_) return;
  std::fprintf(stderr, "\r\033[Kpinstep: %s …", printable(text).c_str());
  shown_ = true;
}

void Progress::clear() {
  if (shown_) std::fprintf(stderr, "\r\033[K");
  shown_ = false;
}

}  // namespace pinstep::cli
