// Slurm's host list notation: "n[0-3,7],login", "rack[1-2]node[01-16]-ib".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "envtools/base/error.h"

namespace pinstep {

// The first `limit` names, in the order in which `scontrol show hostnames` prints them: several bracketed
// parts count like digits, the last one fastest; a range keeps the zero padding of its lower end. Two things
// go beyond Slurm 22.05: text after the last bracket, which it refuses, and three or more bracketed parts,
// which it gives in an order of no counter (and never writes). Errors: invalid.
Result<std::vector<std::string>> expand_node_list(std::string_view list, std::size_t limit);

}  // namespace pinstep
