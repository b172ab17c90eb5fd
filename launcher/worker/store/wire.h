// What the TCP store's clients and server send to each other: messages of a few texts.
//
//   length   32 bits, big-endian, of all that follows; at most kMessageLimit
//   fields   each a length of 32 bits, big-endian, and as many bytes
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pinstep::worker {

inline constexpr std::size_t kMessageLimit = 1 << 20;  // Gloo's addresses of 1000 ranks are 128 kB

using Message = std::vector<std::string>;

std::string encode(const Message& message);

// Takes the first message off the front of `bytes`. Nothing where it is not all there yet; `is_broken` where
// it can never be one.
std::optional<Message> take_message(std::string& bytes, bool& is_broken);

}  // namespace pinstep::worker
