// Holding a TCP port for somebody else: bound, so that nobody gets it by accident, and never listened
// on, so that the program it is held for can bind it.
//
// How (Linux, measured; design fact 6): bind without SO_REUSEADDR, then set SO_REUSEADDR. Plain binds,
// ephemeral connects and a second holder are refused; a program that binds with SO_REUSEADDR, as
// TCPStore, Gloo and gRPC do, gets the port. Setting the option before bind would let two holders share
// it. The hold prevents accidents, not attacks: any user who sets SO_REUSEADDR gets past it.
#pragma once

#include <cstdint>

#include "envtools/base/error.h"
#include "envtools/base/fd.h"

namespace pinstep {

struct HeldPort {
  UniqueFd socket;  // close-on-exec; the hold lasts until it is closed
  std::uint16_t port = 0;
};

// Holds this port, or one that the kernel chooses for 0, on all addresses of both IP versions (of IPv4
// only where the node has no IPv6). Errors: busy, refused (a port below 1024), os.
Result<HeldPort> hold_port(std::uint16_t port);

// Lets the program that this process becomes hold the port on, not as its standard input, output or error,
// even where one of those is closed. Errors: os.
Result<void> keep_through_exec(UniqueFd socket);

}  // namespace pinstep
