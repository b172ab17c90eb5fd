// Whether the nodes of a step are alike in what decides whether its ranks can work together. Pure.
//
// Each rank reports facts of itself and its node; a fact that is not known is "-" and compared like any other
// value: one node without a driver is as odd as one with another. The value that more than half of the nodes
// have is the rule, nodes with another are odd; without such a value all are listed.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "envtools/base/error.h"

namespace pinstep::verify {

// What is compared, in the order shown.
inline constexpr std::array<std::string_view, 9> kFacts{
    "pinstep",      // version of this program
    "plugin",       // version of the plugin that prepared the step
    "environment",  // id
    "kernel",       // release
    "driver",       // NVIDIA's, version
    "nccl",         // version of the library that the environment's programs get
    "gpus",         // of the step on a node
    "nics",         // in use by the map
    "map",          // hash of the node's map without the GPUs' UUIDs
};

struct RankReport {
  std::uint32_t rank = 0;
  std::uint32_t local_size = 1;  // ranks on its node
  std::string node;
  std::map<std::string, std::string, std::less<>> facts;  // those that are known
  std::vector<std::string> gpus;                          // UUIDs of the rank's own

  // As it travels: a line for each thing, values percent-escaped. parse(text()) is the same. Errors: corrupt.
  std::string text() const;
  static Result<RankReport> parse(std::string_view text);
  bool operator==(const RankReport&) const = default;
};

struct Group {
  std::string value;
  std::vector<std::string> nodes;

  bool operator==(const Group&) const = default;
};

struct Comparison {
  std::string fact;
  std::vector<Group> groups;       // the one with the most nodes first, then by value
  std::vector<std::string> mixed;  // nodes whose ranks differ among themselves: their value names all

  bool is_same() const { return groups.size() == 1 && mixed.empty(); }
  bool has_rule() const;  // more than half of the nodes are in the first group
};

struct SharedGpu {
  std::string uuid;
  std::vector<std::uint32_t> ranks;
  std::vector<std::string> nodes;  // of those ranks, each once
};

struct Findings {
  std::uint32_t ranks = 0;         // of the step
  std::vector<std::string> nodes;  // that reported
  std::vector<Comparison> comparisons;
  std::vector<SharedGpu> shared;
  std::vector<std::uint32_t> missing;  // ranks that did not report
  std::vector<std::string> silent;     // nodes of the step without any report

  bool all_well() const;
};

// `reports` in any order, at most one of each rank; `step_nodes` are the step's, where they are known.
Findings compare(const std::vector<RankReport>& reports, std::uint32_t ranks,
                 const std::vector<std::string>& step_nodes);

// One sentence for each thing that is not as it should be; each names the nodes.
std::vector<std::string> problems(const Findings& findings);

// A line for each fact, then the problems; for people.
std::string show(const Findings& findings);

// One object on one line.
std::string json(const Findings& findings);

}  // namespace pinstep::verify
