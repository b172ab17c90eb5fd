// What holds for every machine, wherever it was read from.
#pragma once

#include <algorithm>

#include "launcher/assign/make_map.h"
#include "launcher/machine/machine.h"
#include "tests/fuzz/check.h"

namespace pinstep::fuzz {

inline void check_machine(const Machine& machine) {
  Bits seen;
  for (const Core& core : machine.cores) {
    CHECK(!core.pus.empty() && !core.pus.meets(seen));
    seen.add(core.pus);
  }
  const auto by_address = [](const auto& a, const auto& b) { return a.address < b.address; };
  CHECK(std::is_sorted(machine.gpus.begin(), machine.gpus.end(), by_address));
  CHECK(std::is_sorted(machine.nics.begin(), machine.nics.end(), by_address));
  for (const Gpu& gpu : machine.gpus) CHECK(level(gpu.at, gpu.at) <= Level::sys);
  MapRequest request;
  request.ranks = 2;
  const auto map = make_map(machine, request);
  CHECK(map || map.error().kind == ErrorKind::invalid);
  if (map) CHECK(parse_map(write_map(*map)) == *map);
}

}  // namespace pinstep::fuzz
