// A labelled set of images such as Fashion-MNIST, as bytes in host memory.
#pragma once

#include <cstdint>
#include <string>

#include "envtools/base/error.h"

namespace pinstep::worker {

struct Images {
  std::uint32_t count = 0;
  std::uint32_t rows = 0, columns = 0;  // of each image
  std::uint32_t classes = 0;            // labels are below
  std::string values;                   // count · pixels() grey levels
  std::string labels;                   // count

  std::size_t pixels() const { return std::size_t{rows} * columns; }
  // Only the first `most`, where there are more.
  void shorten(std::uint32_t most);
};

struct DataSet {
  Images train;
  Images test;
};

// Debian's dataset-fashion-mnist.
inline constexpr const char* kDefaultData = "/usr/share/datasets/fashion-mnist";

// train-images-idx3-ubyte and so on, with or without .gz, as MNIST and Fashion-MNIST name them. Errors:
// not_found, corrupt, and those of reading files.
Result<DataSet> read_data_set(const std::string& directory);

// Made-up images of the size and with the number of classes of Fashion-MNIST, which a model can learn: each
// class has places that are brighter, and there is noise. The seed alone decides them.
DataSet synthetic_data(std::uint32_t train, std::uint32_t test, std::uint64_t seed);

// Two IDX values that belong together. `subject` stands in the messages. Errors: corrupt.
struct Idx;
Result<Images> match(Idx images, Idx labels, const std::string& subject);

}  // namespace pinstep::worker
