// What a verb tells while it works: one line on a terminal, replaced and gone at the end; nothing elsewhere.
#pragma once

#include <string>

namespace pinstep::cli {

class Progress {
 public:
  Progress();  // looks at standard error
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  bool on_terminal() const { return on_terminal_; }
  void show(const std::string& text);
  void clear();

 private:
  bool on_terminal_;
  bool shown_ = false;
};

}  // namespace pinstep::cli
