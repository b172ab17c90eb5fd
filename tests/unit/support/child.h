// Part of a test in a process of its own, for what ends or replaces the process it is done in.
#pragma once

#include <functional>
#include <string>

namespace pinstep::testing_support {

struct ChildEnd {
  int exit_code = -1;  // of a child that ended by itself
  int signal = 0;
  std::string output;  // standard output
};

// Runs `body` in a child, which ends with the value that it returns.
ChildEnd in_child(const std::function<int()>& body);

}  // namespace pinstep::testing_support
