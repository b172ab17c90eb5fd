// By which network interface this node reaches another.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pinstep {

// The interface that the kernel would send by to this literal address, on the node that has the address the
// interface with it. Sends nothing. Empty: it is no literal address, there is no way, or it is loopback.
std::string interface_towards(const std::string& address);

// The literal addresses that a hosts(5) file gives the name. Pure.
std::vector<std::string> addresses_in_hosts(std::string_view text, std::string_view name);

// That of the first address of MASTER_ADDR's value that is not loopback. A name is looked up in /etc/hosts
// only: a name service may take its time, and a static program has none.
std::string interface_towards_master(const std::string& master);

}  // namespace pinstep
