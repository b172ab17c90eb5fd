#include "launcher/rendezvous/addresses.h"

namespace pinstep {

bool is_loopback(std::string_view literal_address) {
  return literal_address == "::1" || literal_address.starts_with("127.");
}

std::string node_host_name(std::string_view pattern, std::string_view node) {
  std::string name(pattern);
  for (std::size_t at = 0; (at = name.find("%h", at)) != std::string::npos; at += node.size())
    name.replace(at, 2, node);
  return name;
}

}  // namespace pinstep
