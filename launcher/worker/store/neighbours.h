// Who has a heart-beat with whom, and what that says where the store is silent. Pure.
//
// A rank that does not hear rank 0's store cannot tell by itself whether rank 0 hangs, its node is cut off the
// network, or this one is: it asks what it hears of others. So ranks stand in a ring in which those beside each
// other are on different nodes wherever that can be: first the first ranks of all nodes, then their second
// ones, and so on. Each has a heart-beat with the next two, and with that the two before it have one with it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launcher/worker/store/roll.h"

namespace pinstep::worker {

// `nodes`: by rank.
std::vector<std::uint32_t> ring_of(const std::vector<std::string>& nodes);

struct Neighbours {
  std::vector<std::uint32_t> next;      // to whom this rank connects
  std::vector<std::uint32_t> previous;  // who connect to it; in a small ring some are both
};
Neighbours neighbours_of(std::uint32_t rank, const std::vector<std::string>& nodes);

struct Seat {
  std::uint32_t rank = 0;
  std::string node;
};

// What a rank knows of a neighbour.
struct Sight {
  Seat seat;
  std::optional<Roll::Moment> sign;      // of life, the last: a beat, or the end of its connection
  std::optional<Roll::Moment> answered;  // when the store last answered it, as it says
};

// Who is to blame for that the store of `host`, rank 0, does not answer `own` since then: rank 0 where a
// neighbour on another node is still heard (silent); `own` where that one is even answered, or no other node is
// heard of at least two (cut_off); rank 0 where there is no third node that could tell. A neighbour that never
// was heard says nothing.
Verdict judge_silence(const Seat& own, const Seat& host, const std::vector<Sight>& sights, Roll::Moment since);

}  // namespace pinstep::worker
