// What a run needs to go on where it was: named arrays and how far it is. As a file, version 1:
//
//   length   64 bits, little-endian, of the head
//   head     JSON: {"__metadata__": {"format": "pinstep-checkpoint 1", "sha256": "…", "epoch": "2", "consumed":
//   "640",
//            "steps": "1940", "ranks": "4", "setting.NAME": "…", …},
//            "NAME": {"dtype": "F32", "shape": [256, 784], "data_offsets": [BEGIN, END]}, …}
//   data     the arrays' elements, little-endian, in the order of the head and without gaps
//
// So it is a safetensors file (huggingface/safetensors, README, "Format"), and others can read the weights.
// `sha256` is that of the whole file with 64 zeros in its place: a byte that changes anywhere is noticed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "envtools/base/error.h"
#include "launcher/worker/device/device.h"

namespace pinstep::worker {

// How far a run is. No word of ranks in it: another number of them can go on.
struct Position {
  std::uint32_t epoch = 1;     // that is under way
  std::uint64_t consumed = 0;  // samples of this epoch's order that all ranks together have trained on
  std::uint64_t steps = 0;     // since the run began

  bool operator==(const Position&) const = default;
};

struct SavedArray {
  std::string name;
  Type type = Type::f32;
  std::vector<std::size_t> shape;
  std::size_t offset = 0;  // in Checkpoint::data
  std::size_t bytes = 0;

  bool operator==(const SavedArray&) const = default;
};

struct Checkpoint {
  Position position;
  std::uint32_t ranks = 1;                      // that wrote it
  std::map<std::string, std::string> settings;  // of the run, see train/identity.h
  std::vector<SavedArray> arrays;
  std::string data;

  // The name must be new, and `bytes` as many as shape and type say.
  void add(std::string name, Type type, std::vector<std::size_t> shape, std::string_view bytes);
  const SavedArray* find(std::string_view name) const;
  std::string_view bytes_of(const SavedArray& array) const {
    return std::string_view(data).substr(array.offset, array.bytes);
  }

  bool operator==(const Checkpoint&) const = default;
};

// All that is in front of the data in a file.
std::string head_of(const Checkpoint& checkpoint);

// `subject` stands in the messages. Errors: corrupt, unsupported (of a later version).
Result<Checkpoint> parse_checkpoint(std::string_view bytes, std::string_view subject);

}  // namespace pinstep::worker
