// The fault table of build/tests/pinstep-faults.so: what goes wrong where is said by a file on the node,
// so that a test can set it for one node and one hook.
//
//   /etc/pinstep/faults:  lines "POINT ACTION", POINT as in inject_fault(), ACTION one of
//     exception   throws a std::runtime_error
//     other       throws something that is no std::exception
//     memory      throws std::bad_alloc
//     stall       does not come back
#include "plugin/faults.h"

#include <unistd.h>

#include <fstream>
#include <new>
#include <stdexcept>
#include <string>

namespace pinstep {

void inject_fault(const char* point) {
  std::ifstream table("/etc/pinstep/faults");
  std::string name;
  std::string action;
  while (table >> name >> action) {
    if (name != point) continue;
    if (action == "exception") throw std::runtime_error("injected fault");
    if (action == "other") throw 42;
    if (action == "memory") throw std::bad_alloc();
    while (action == "stall") ::pause();
  }
}

}  // namespace pinstep
