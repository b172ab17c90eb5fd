// What a build tells while it works, on standard error: a moving line on a terminal, else a line every 30 s,
// and with -v a line for each stage. Threads: one only.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "envtools/base/clock.h"

namespace pinstep {

class Progress {
 public:
  enum class Style { quiet, lines, terminal };

  Progress(Style style, bool stages, Clock& clock) : style_(style), stages_(stages), clock_(clock) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // A stage begins: "fetch", "extract", "link", "compile", "record", "publish".
  void stage(std::string_view name);
  // How far it is, in words: "fetching: 3 of 24 packages, 10 of 13 MB".
  void now(std::string_view text);
  // Something worth a line in itself. Not with quiet.
  void say(std::string_view text);

 private:
  void clear();  // the moving line

  const Style style_;
  const bool stages_;
  Clock& clock_;
  Clock::Milliseconds shown_{-1};  // when; negative: never
  bool on_line_ = false;           // the cursor stands behind a moving line
};

}  // namespace pinstep
