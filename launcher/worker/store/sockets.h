// TCP sockets of the ranks: not blocking, closed on exec, and never waited for without an end.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "envtools/base/fd.h"
#include "launcher/worker/store/store.h"

namespace pinstep::worker {

using Moment = std::chrono::steady_clock::time_point;

// What is left until then, for poll(2); not below 0.
int poll_time(Moment until);

// On all addresses, with SO_REUSEADDR: the port may be held for us (launcher/rendezvous/port.h). 0 takes any.
// Errors: busy, refused, os.
Result<UniqueFd> listen_on(std::uint16_t port);
// Errors: os.
Result<std::uint16_t> port_of(const UniqueFd& socket);

// One try at one host, a literal address or a name; `whom` is for the message ("rank 0"). Errors: not_found (no
// such host), and errno's.
Result<UniqueFd> connect_to(const std::string& host, std::uint16_t port, std::string_view whom, Moment until);

// This end's literal address; "" where it cannot be told.
std::string local_address(const UniqueFd& socket);

std::string shown_address(const std::string& host, std::uint16_t port);  // "10.0.0.1:29500", "[::1]:29500"

}  // namespace pinstep::worker
