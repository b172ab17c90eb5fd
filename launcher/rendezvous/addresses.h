// Addresses of nodes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "envtools/base/error.h"

namespace pinstep {

// Host names, behind an interface because a test cannot make a name service answer on demand.
class NameService {
 public:
  virtual ~NameService() = default;
  // Literal addresses of a host, in the system's order. Errors: not_found.
  virtual Result<std::vector<std::string>> addresses(const std::string& host) = 0;
};

class SystemNameService final : public NameService {
 public:
  Result<std::vector<std::string>> addresses(const std::string& host) override;
};

bool is_loopback(std::string_view literal_address);

// The name other nodes know a node by: the site's pattern with %h replaced.
std::string node_host_name(std::string_view pattern, std::string_view node);

// Literal addresses under which other nodes reach the node this runs on: those its name has, unless they
// are loopback (Debian gives a host 127.0.1.1), else those of its interfaces. May be empty.
std::vector<std::string> own_addresses(const std::string& host_name, NameService& names);

}  // namespace pinstep
